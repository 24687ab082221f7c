/**
 * The audit log: a line for each call, refusal and session, and nothing in it that a client could write
 * lines with or that opens a door.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { post } from '../../support/http-client.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { useScripted } from '../../support/use-gateway.ts';

const keys = new TestKeys();
keys.add('alice', { groups: ['team'] });
keys.add('guest');
const file = join(tempDir(), 'audit.jsonl');
const { harness } = useScripted(scriptedServer(), {
  log: { level: 'trace', messages: true },
  config: {
    auth: {
      keys: { file: keys.file },
      allow: [{ who: { groups: ['team'] }, servers: ['one'] }],
    },
    audit: { to: file },
  },
});

type Line = Readonly<Record<string, unknown>>;

const lines = (): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

const found = (fits: (line: Line) => boolean): Promise<Line> =>
  until(() => lines().find(fits), { what: 'a line of the audit log' });

it('says who called what, how it ended and how large it was', async () => {
  const headers = keys.headers('alice');
  const session = harness.track(await LegacySession.open(harness.url(), { headers }));
  await session.call('echo', { text: 'payload-1' });
  await session.call('no-such-tool');
  expect(await found(({ target }) => target === 'echo')).toMatchObject({
    event: 'call',
    principal: 'alice',
    kind: 'key',
    endpoint: '/servers/one',
    server: 'one',
    method: 'tools/call',
    outcome: 'ok',
    requestBytes: expect.any(Number),
    responseBytes: expect.any(Number),
    ms: expect.any(Number),
    time: expect.stringMatching(/^\d{4}-/),
  });
  await found(({ target }) => target === 'no-such-tool');
  await found(({ event, principal }) => event === 'session_opened' && principal === 'alice');
  await session.delete();
  await found(({ event, principal }) => event === 'session_ended' && principal === 'alice');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('says who was not let in', async () => {
  await post(harness.url(), initializeRequest(), { authorization: 'Bearer nobody' }).response();
  await post(harness.url(), initializeRequest(), keys.headers('guest')).response();
  expect(await found(({ outcome }) => outcome === 'invalid')).toMatchObject({
    event: 'refused',
    address: '127.0.0.1',
    endpoint: '/servers/one',
  });
  await found(({ outcome, principal }) => outcome === 'denied' && principal === 'guest');
});

it.each(['a\nb', '\u001b[31mred', '"}\n{"event":"call"', '\u2028x', 'x'.repeat(1_000)])(
  'H01 a tool called %j is one line',
  async (name) => {
    const headers = keys.headers('alice');
    const session = harness.track(await LegacySession.open(harness.url(), { headers }));
    const before = lines().filter(({ event }) => event === 'call').length;
    await session.call(name);
    const calls = await until(() => {
      const all = lines().filter(({ event }) => event === 'call');
      return all.length > before && all;
    });
    expect(calls.at(-1)?.['target']).toBe(name.slice(0, 256));
    expect(harness.gateway.logs().filter((line) => 'unparsed' in line)).toEqual([]);
  },
);

it('H02 neither log has payloads or keys, even at trace', async () => {
  const headers = keys.headers('alice');
  const session = harness.track(await LegacySession.open(harness.url(), { headers }));
  await session.call('echo', { text: 'payload-2' });
  await found(({ target }) => target === 'echo');
  const audit = readFileSync(file, 'utf8');
  expect(audit).not.toMatch(/payload-/);
  expect(audit).not.toContain(session.sessionId);
  for (const text of [audit, JSON.stringify(harness.gateway.logs())]) {
    for (const name of ['alice', 'guest']) expect(text).not.toContain(keys.key(name).slice(16));
  }
});
