import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadText } from '../../../src/config/load.ts';
import type { ServerOptions } from '../../../src/upstream/options.ts';
import { isSameServer } from '../../../src/upstream/same-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

function serverOf(entry: string, folder = '/folder'): ServerOptions {
  const path = join(folder, 'f.yaml');
  const { config } = loadText('f.yaml', `servers: { one: ${entry} }`, {}, path);
  const [server] = config.servers;
  if (server === undefined) throw new Error('no server');
  return server;
}

it.each([
  ['{ command: a, args: [b] }', '{ args: [b], command: a }'],
  [
    '{ command: a }',
    '{ command: a, timeouts: { request: 1s }, limits: { inFlight: 9, queue: 1 } }',
  ],
  ['{ url: "http://a/", sharing: shared }', '{ url: "http://a/", timeouts: { idle: 1s } }'],
])('%s goes on as %s', (one, other) => {
  expect(isSameServer(serverOf(one), serverOf(other))).toBe(true);
});

it.each([
  ['{ command: a }', '{ command: b }'],
  ['{ command: a }', '{ command: a, args: [b] }'],
  ['{ command: a }', '{ command: a, env: { A: b } }'],
  ['{ command: a }', '{ command: a, replicas: 2 }'],
  ['{ command: a }', '{ command: a, limits: { message: 2MiB } }'],
  ['{ url: "http://a/" }', '{ url: "http://a/", limits: { inFlight: 9 } }'],
  ['{ url: "http://a/" }', '{ url: "http://a/", headers: { a: b } }'],
  ['{ command: a }', '{ url: "http://a/" }'],
])('%s does not go on as %s', (one, other) => {
  expect(isSameServer(serverOf(one), serverOf(other))).toBe(false);
});

it('is another one when a file of its environment is another one, not when one of a header is', () => {
  const folder = mkdtempSync(join(tempDir(), 'files-'));
  const process = '{ command: a, env: { SECRET: "${file:secret}" } }';
  const remote = '{ url: "http://a/", headers: { authorization: "Bearer ${file:secret}" } }';
  writeFileSync(join(folder, 'secret'), 'old');
  const before = [serverOf(process, folder), serverOf(remote, folder)] as const;
  writeFileSync(join(folder, 'secret'), 'new');
  expect(isSameServer(before[0], serverOf(process, folder))).toBe(false);
  expect(isSameServer(before[1], serverOf(remote, folder))).toBe(true);
});
