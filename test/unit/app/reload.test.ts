import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { Reloads, type RereadConfig } from '../../../src/app/reload.ts';
import { UserFileError } from '../../../src/base/errors.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadText } from '../../../src/config/load.ts';

const logger = pino({ level: 'silent' });

function configOf(more = ''): Config {
  return loadText('f.yaml', `servers: { one: { command: one } }\n${more}`, {}, '/f.yaml').config;
}

function reloadsOf(read: () => Promise<RereadConfig>, apply = vi.fn(async () => undefined)) {
  const counted = vi.fn();
  const reloads = new Reloads({ started: configOf(), files: [], logger, read, apply, counted });
  return { reloads, apply, counted };
}

const reread = (config: Config): RereadConfig => ({
  config,
  secrets: new Set(),
  warnings: [],
  files: [],
});

it('runs one at a time, and one more for all who ask meanwhile', async () => {
  const reads: (() => void)[] = [];
  const { reloads, apply } = reloadsOf(
    () => new Promise((resolve) => reads.push(() => resolve(reread(configOf())))),
  );
  const first = reloads.request('a');
  const others = ['b', 'c', 'd'].map((trigger) => reloads.request(trigger));
  expect(reads).toHaveLength(1);
  reads[0]?.();
  await first;
  await vi.waitFor(() => expect(reads).toHaveLength(2));
  expect(apply).toHaveBeenCalledTimes(1);
  // It has begun, and may have read what was there before.
  const late = reloads.request('e');
  reads[1]?.();
  await Promise.all(others);
  await vi.waitFor(() => expect(reads).toHaveLength(3));
  reads[2]?.();
  expect(await late).toEqual({ outcome: 'ok', needsRestart: [] });
  expect(apply).toHaveBeenCalledTimes(3);
});

it('goes on after one that was refused', async () => {
  const read = vi
    .fn<() => Promise<RereadConfig>>()
    .mockRejectedValueOnce(new UserFileError('the file is gone'))
    .mockResolvedValue(reread(configOf()));
  const { reloads, counted } = reloadsOf(read);
  expect(await reloads.request('a')).toEqual({ outcome: 'refused', errors: ['the file is gone'] });
  expect(await reloads.request('b')).toMatchObject({ outcome: 'ok' });
  expect(counted.mock.calls).toEqual([['refused'], ['ok']]);
});

it('keeps what only a start can change, and says so', async () => {
  const wanted = configOf(
    'listen: { port: 1 }\nadmin: { port: 2 }\nlimits: { callsPerPrincipal: 7 }',
  );
  const { reloads, apply } = reloadsOf(async () => reread(wanted));
  const outcome = await reloads.request('a');
  expect(outcome).toEqual({ outcome: 'ok', needsRestart: ['listen', 'admin'] });
  const { listen, admin } = configOf();
  const limits = { callsPerPrincipal: 7 };
  expect(apply).toHaveBeenCalledWith(expect.objectContaining({ listen, admin }), expect.anything());
  expect(apply.mock.calls[0]).toMatchObject([{ limits }, new Set()]);
});

it('refuses what would be unsafe at the listener that there is', async () => {
  const open = configOf('listen: { host: 0.0.0.0, allowUnauthenticated: true }');
  const counted = vi.fn();
  const apply = vi.fn(async () => undefined);
  const auth = 'auth: { keys: { file: keys }, allow: [{ servers: ["*"] }] }';
  // With a proxy in front it is safe, which the listener that there is does not have.
  const wanted = configOf(`listen: { host: 0.0.0.0, tlsTerminatedUpstream: true }\n${auth}`);
  const read = async (): Promise<RereadConfig> => reread(wanted);
  const reloads = new Reloads({ started: open, files: [], logger, read, apply, counted });
  expect(await reloads.request('a')).toEqual({
    outcome: 'refused',
    errors: [expect.stringMatching(/^listen\.host: as it is until a restart, is reachable/)],
  });
  expect(apply).not.toHaveBeenCalled();
});
