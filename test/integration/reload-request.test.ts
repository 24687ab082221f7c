/** Reload by request: the admin listener, and the command that asks it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type GatewayOptions, startGateway } from '../support/gateway.ts';
import { rewriteConfiguration } from '../support/gateway-options.ts';
import { send } from '../support/http-client.ts';
import { serversOf, useReloading } from '../support/reloading.ts';
import { ROOT } from '../support/root.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const reloading = useReloading();
const WITHOUT_WATCH = { reload: { watch: false } };
const JSON_BODY = { 'content-type': 'application/json' };

function run(...args: string[]): Promise<{ status: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, ['src/main.ts', 'reload', ...args], { cwd: ROOT });
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof run>>>();
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    err += String(chunk);
  });
  child.on('close', (status) => resolve({ status, out, err }));
  return promise;
}

it('answers when it is done: with what waits for a restart, or with all errors', async () => {
  const one = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one }), config: WITHOUT_WATCH });
  const url = `${running.adminUrl}/reload`;
  const post = async (headers: Record<string, string> = JSON_BODY) => {
    const { status, text } = await send(url, { method: 'POST', headers, body: '{}' });
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  };
  const two = scriptedServer();
  const servers = serversOf({ one, two });
  rewriteConfiguration(running.folder, { servers, admin: { port: 1 }, config: WITHOUT_WATCH });
  expect(await post()).toEqual({
    status: 200,
    body: { outcome: 'ok', needsRestart: ['admin'] },
  });
  expect(two.journal.starts).toHaveLength(1);

  rewriteConfiguration(running.folder, { servers, config: { drain: 'later' } });
  expect(await post()).toEqual({
    status: 422,
    body: { outcome: 'refused', errors: [expect.stringMatching(/:\d+:\d+: drain: /)] },
  });

  // A page in a browser can send neither of these by itself.
  expect((await post({ 'content-type': 'text/plain' })).status).toBe(415);
  expect((await post({ ...JSON_BODY, host: 'evil.example' })).status).toBe(403);
  expect((await post({ ...JSON_BODY, origin: 'https://evil.example' })).status).toBe(403);
});

it('the command prints what came of it, over TCP and over a socket', async () => {
  const one = scriptedServer();
  const socket = join(tempDir(), 'admin.sock');
  const options = (more: object = {}): GatewayOptions => ({
    servers: serversOf({ one }),
    config: { ...WITHOUT_WATCH, ...more },
  });
  const running = await reloading.start(options());
  expect(await run('--admin', running.adminUrl)).toEqual({
    status: 0,
    out: 'The configuration was reloaded.\n',
    err: '',
  });
  rewriteConfiguration(running.folder, options({ drain: 'later' }));
  const refused = await run('--admin', running.adminUrl);
  expect(refused).toMatchObject({ status: 1, out: '' });
  expect(refused.err).toMatch(/sluice\.yaml:\d+:\d+: drain: .*\nsluice: not reloaded: /);
  const nobody = await run('--admin', socket);
  expect(nobody.err).toMatch(/^sluice: no gateway answers at .*admin\.sock: /);
  expect(nobody.status).toBe(1);
});

it('is asked at the place that the configuration names', async () => {
  const one = scriptedServer();
  const socket = join(tempDir(), 'admin.sock');
  const running = await startGateway({ servers: serversOf({ one }), admin: { socket } });
  const answer = await run('--config', join(running.folder, 'sluice.yaml'), '--json');
  expect(JSON.parse(answer.out)).toEqual({ outcome: 'ok', needsRestart: [] });
  expect(answer.status).toBe(0);
  expect(await running.stop()).toEqual({ code: 0, signal: null });
});
