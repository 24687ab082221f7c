/**
 * Six real servers behind one path, with the official SDKs as clients: every tool can be called, what
 * results link to can be read, and a server that is killed costs its own calls only (GW-100..103).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { descendants } from '../support/processes.ts';
import { ROOT } from '../support/root.ts';
import type { ServerConfig } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import type { SdkClient } from './sdk-client.ts';
import { connectV1 } from './sdk-v1.ts';
import { connectV2 } from './sdk-v2.ts';

const folder = tempDir();
const files = join(folder, 'files');
mkdirSync(files);
writeFileSync(join(files, 'a.txt'), 'hello from a file');

function server(program: string, ...args: string[]): ServerConfig {
  return { command: process.execPath, args: [join(ROOT, 'node_modules/.bin', program), ...args] };
}

const SERVERS: Readonly<Record<string, ServerConfig>> = {
  everything: server('mcp-server-everything'),
  files: server('mcp-server-filesystem', files),
  memory: {
    ...server('mcp-server-memory'),
    env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
  },
  thinking: server('mcp-server-sequential-thinking'),
  hello: server('mcp-hello-world'),
  clock: server('mcp-server-basic-vanillajs', '--stdio'),
};

/** One call of each server that always works, and what its text has. */
const SURE: Readonly<Record<string, readonly [string, Record<string, unknown>, RegExp]>> = {
  everything: ['everything__get-sum', { a: 2, b: 3 }, /The sum of 2 and 3 is 5/],
  files: ['files__read_text_file', { path: join(files, 'a.txt') }, /^hello from a file$/],
  memory: ['memory__read_graph', {}, /"entities"/],
  thinking: [
    'thinking__sequentialthinking',
    { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
    /"thoughtHistoryLength"/,
  ],
  hello: ['hello__add', { a: 2, b: 3 }, /5/],
  clock: ['clock__get-time', {}, /\d{4}-\d\d-\d\dT/],
};

/** Arguments of tools that take long, or need the network, without any. */
const ARGUMENTS: Readonly<Record<string, Record<string, unknown>>> = {
  'everything__trigger-long-running-operation': { duration: 0.1, steps: 1 },
  'everything__gzip-file-as-resource': { data: 'data:text/plain,hi', outputType: 'resourceLink' },
};

/** Why a call failed; undefined when it did not. */
async function failureOf(
  call: Promise<unknown>,
): Promise<{ code?: unknown; data?: unknown } | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return error as { code?: unknown; data?: unknown };
  }
}

const harness = useGateway(() => ({ ownProcess: true, servers: SERVERS }));
const user = { secret: 'a secret' };
const CLIENTS: Readonly<Record<string, () => Promise<SdkClient>>> = {
  'SDK 1.x over Streamable HTTP': () => connectV1(harness.gateway.url, 'streamable-http', user),
  'SDK 1.x over WebSocket': () => connectV1(harness.gateway.url, 'websocket', user),
  'SDK 2.x, legacy': () => connectV2(harness.gateway.url, 'streamable-http', user, 'legacy'),
  'SDK 2.x, modern': () => connectV2(harness.gateway.url, 'streamable-http', user, 'modern'),
};

describe.each(Object.entries(CLIENTS))('%s', (_name, connect) => {
  it('GW-100: every tool is listed under a valid name, and a call reaches its server', async () => {
    const client = harness.track(await connect());
    const tools = await client.listTools();
    expect(new Set(tools).size).toBe(tools.length);
    for (const name of tools) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    for (const key of Object.keys(SERVERS)) {
      expect(tools.filter((name) => name.startsWith(`${key}__`))).not.toEqual([]);
    }
    expect(tools.length).toBeGreaterThan(40);
    const failures: string[] = [];
    for (const name of tools) {
      const failure = await failureOf(client.call(name, ARGUMENTS[name] ?? {}));
      // A server may refuse what it is asked; the gateway has no reason to.
      const isTyped = failure === undefined || typeof failure.code === 'number';
      const reason = (failure?.data as { reason?: unknown } | undefined)?.reason;
      if (!isTyped || reason !== undefined) failures.push(`${name}: ${String(failure)}`);
    }
    expect(failures).toEqual([]);
  });

  it('each server does what it is asked', async () => {
    const client = harness.track(await connect());
    for (const [name, args, text] of Object.values(SURE)) {
      expect((await client.call(name, args)).text, name).toMatch(text);
    }
  });

  it('GW-103: what is listed and what results link to can be read', async () => {
    const client = harness.track(await connect());
    const listed = await client.listResources();
    expect(listed).toContain('hello://world');
    for (const uri of listed) expect((await client.read(uri)).length, uri).toBeGreaterThan(0);
    const { uris } = await client.call('everything__get-resource-links', { count: 4 });
    const reference = await client.call('everything__get-resource-reference', {
      resourceType: 'Text',
      resourceId: 1,
    });
    expect(uris.length).toBeGreaterThan(2);
    expect(reference.uris).toHaveLength(1);
    for (const uri of [...uris, ...reference.uris]) {
      expect((await client.read(uri)).length, uri).toBeGreaterThan(0);
    }
  });

  it('prompts and completions reach their server', async () => {
    const client = harness.track(await connect());
    const prompts = await client.listPrompts();
    expect(prompts).toContain('everything__completable-prompt');
    const argument = { name: 'department', value: 'E' };
    const values = await client.completePrompt('everything__completable-prompt', argument);
    expect(values).toContain('Engineering');
    expect(await client.getPrompt('everything__simple-prompt')).not.toBe('');
  });
});

describe('a server that is killed', () => {
  it('GW-102: costs its own calls only, and is there again', async () => {
    const clients = await Promise.all(Object.values(CLIENTS).map((connect) => connect()));
    for (const client of clients) harness.track(client);
    const keys = Object.keys(SERVERS);
    const victim = keys[Math.floor(Math.random() * keys.length)] ?? 'files';
    const program = String(SERVERS[victim]?.['args']).split(',')[0] ?? '';
    const processOf = () =>
      descendants(harness.gateway.pid).find(({ cmdline }) => cmdline.includes(program));
    const round = async (): Promise<{ key: string; failure: unknown; reason: unknown }[]> =>
      await Promise.all(
        clients.flatMap((client) =>
          Object.entries(SURE).map(async ([key, [name, args]]) => {
            const failure = await failureOf(client.call(name, args));
            return {
              key,
              failure,
              reason: (failure?.data as { reason?: unknown } | undefined)?.reason,
            };
          }),
        ),
      );
    expect((await round()).filter(({ failure }) => failure !== undefined)).toEqual([]);
    const killed = processOf();
    if (killed === undefined) throw new Error(`no process of ${victim}`);
    const during = [round(), round()];
    process.kill(killed.pid, 'SIGKILL');
    during.push(round());
    const failed = (await Promise.all(during))
      .flat()
      .filter(({ failure }) => failure !== undefined);
    expect(failed.filter(({ key }) => key !== victim)).toEqual([]);
    for (const { reason } of failed) expect(String(reason)).toMatch(/^server_/);
    await until(async () => (await round()).every(({ failure }) => failure === undefined), {
      what: `calls of ${victim}, which was killed`,
    });
    expect(processOf()?.pid).not.toBe(killed.pid);
  });
});
