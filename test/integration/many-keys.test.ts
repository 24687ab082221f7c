/**
 * C05: objects with very many keys, and keys that fall on each other in a hash table, wherever the gateway
 * makes an object of what a client sent. They are answered, and others are served meanwhile.
 */
import { describe, expect, it } from 'vitest';
import { ModernClient } from '../support/modern-client.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { useScripted } from '../support/use-gateway.ts';
import { type Json, textOf } from '../support/wire-message.ts';

/** An object of the keys that a source gives, as text. */
function objectOf(count: number, keyAt: (at: number) => string): string {
  return `{${Array.from({ length: count }, (_, at) => `"${keyAt(at)}":1`).join(',')}}`;
}

/** What a hash of numbers as they are puts into one slot of a table of 2^20 or fewer. */
const colliding = (at: number): string => String((at + 1) * 2 ** 20);
const random = (at: number): string =>
  Math.sin(at + 1)
    .toString(36)
    .slice(2, 12);

const KINDS: Readonly<Record<string, string>> = {
  '2 MB of numbers that collide': objectOf(125_000, colliding),
  '150 000 others': objectOf(150_000, random),
};
const { harness } = useScripted(scriptedServer());

describe.each(Object.entries(KINDS))('C05 an object of %s', (_, keys) => {
  const served = async (work: Promise<unknown>): Promise<void> => {
    const beside = await harness.session();
    let isDone = false;
    const over = work.finally(() => {
      isDone = true;
    });
    let answers = 0;
    do {
      expect(await beside.call('echo', { at: answers })).toHaveProperty('result');
      answers++;
    } while (!isDone);
    await over;
  };

  it('is carried in the arguments of a call', async () => {
    const session = await harness.session();
    const body = `{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"echo","arguments":${keys}}}`;
    const answer = session.post(body).answer('big');
    await served(answer);
    expect(textOf(await answer)).toBe(keys);
  });

  it('is refused in `initialize`, and keeps nobody waiting', async () => {
    const opened = harness.session({ capabilities: { experimental: JSON.parse(keys) as Json } });
    const refused = expect(opened).rejects.toThrow(/-32\d{3}/);
    await served(opened.catch(() => undefined));
    await refused;
  });

  it('is refused in the envelope of a modern request, and keeps nobody waiting', async () => {
    const client = harness.track(new ModernClient(harness.url()));
    const answer = client.request(
      'tools/list',
      {},
      { meta: { 'x.example/keys': JSON.parse(keys) as Json } },
    );
    await served(answer);
    expect(await answer).toHaveProperty('error');
  });
});
