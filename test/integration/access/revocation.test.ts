/**
 * A key that is taken back while something of its owner is on its way, and key files that can't be read
 * for a while.
 */
import { chmodSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { until } from '../../support/until.ts';
import { useScripted } from '../../support/use-gateway.ts';

const keys = new TestKeys();
keys.add('alice');
const { harness, journal } = useScripted(scriptedServer(), {
  config: {
    auth: { keys: { file: keys.file }, allow: [{ servers: ['*'] }] },
    limits: { failedLoginsPerMinute: 1000 },
  },
});

const status = async (headers: Readonly<Record<string, string>>): Promise<number> =>
  (await new ModernClient(harness.url(), {}, headers).begin('server/discover').exchange.head)
    .status;

/** A key that the gateway knows. */
async function addKey(name: string): Promise<{ readonly authorization: string }> {
  keys.add(name);
  await until(async () => (await status(keys.headers(name))) === 200);
  return keys.headers(name);
}

async function revoke(name: string): Promise<void> {
  const headers = keys.headers(name);
  keys.revoke(name);
  await until(async () => (await status(headers)) === 401);
}

/** A POST whose body comes later. */
class SlowPost {
  readonly #socket: Socket;
  readonly #body: string;
  readonly #answer: Promise<string>;

  constructor(headers: Readonly<Record<string, string>>, body: object) {
    this.#body = JSON.stringify(body);
    const { hostname, port, pathname } = new URL(harness.url());
    const lines = Object.entries({
      host: '127.0.0.1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': String(Buffer.byteLength(this.#body)),
      expect: '100-continue',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket = connect(Number(port), hostname);
    this.#socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`);
    this.#answer = new Promise((resolve) => {
      let text = '';
      this.#socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        // The first line says that the body may come.
        if (/\r\n\r\nHTTP\/1\.1 /.test(text)) resolve(text.slice(text.indexOf('\r\n\r\n') + 4));
      });
      this.#socket.on('close', () => resolve(text));
    });
  }

  /** Resolves when the head was let in. */
  async admitted(): Promise<void> {
    await until(() => this.#socket.bytesRead > 0);
  }

  async finish(): Promise<string> {
    this.#socket.write(this.#body);
    const answer = await this.#answer;
    this.#socket.destroy();
    return answer;
  }
}

describe('a key that is taken back', () => {
  it('G08 does not let in a body that comes after its end', async () => {
    const headers = await addKey('slow');
    const session = await LegacySession.open(harness.url(), { headers });
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo' } };
    const posts = [
      new SlowPost(headers, initializeRequest()),
      new SlowPost({ ...headers, ...session.headers }, call),
    ];
    for (const one of posts) await one.admitted();
    await revoke('slow');
    const before = journal.messages().length;
    for (const one of posts) expect(await one.finish()).toMatch(/^HTTP\/1\.1 401 /);
    expect(journal.messages()).toHaveLength(before);
  });

  it('G08 ends modern calls that are not answered', async () => {
    const headers = await addKey('waiting');
    const client = harness.track(new ModernClient(harness.url(), {}, headers));
    const { exchange } = client.begin('tools/call', { name: 'hang', arguments: {} });
    await until(() => journal.messages().some(({ params }) => params?.['name'] === 'hang'));
    keys.revoke('waiting');
    await exchange.response().catch(() => undefined);
    await until(() =>
      journal.messages().some(({ method }) => method === 'notifications/cancelled'),
    );
  });
});

describe('the key file', () => {
  it('G08 is read again when its rights are put right', async () => {
    const headers = await addKey('loose');
    const next = `${keys.file}.next`;
    keys.revoke('loose');
    renameSync(keys.file, next);
    chmodSync(next, 0o644);
    renameSync(next, keys.file);
    await until(() => JSON.stringify(harness.gateway.logs()).includes('not reloaded'));
    chmodSync(keys.file, 0o600);
    await until(async () => (await status(headers)) === 401);
  });

  it('G01 that is a loop of links changes nothing, and stops nothing', async () => {
    const headers = await addKey('looped');
    const aside = `${keys.file}.aside`;
    renameSync(keys.file, aside);
    symlinkSync(keys.file, keys.file);
    const lines = harness.gateway.logs().length;
    await until(() => JSON.stringify(harness.gateway.logs().slice(lines)).includes('not reloaded'));
    expect(await status(headers)).toBe(200);
    rmSync(keys.file);
    renameSync(aside, keys.file);
    await revoke('looped');
    expect(await status(keys.headers('alice'))).toBe(200);
  });
});
