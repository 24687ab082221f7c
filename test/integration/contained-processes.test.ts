/**
 * What a child process can reach of the gateway and of the machine: another user, limits, a sandbox,
 * and the file descriptors that it has (docs/reliability.md#e03, #e06, #e10).
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { LegacySession } from '../support/legacy-session.ts';
import { isAlive, waitGone, watcherOf } from '../support/processes.ts';
import { FIXTURES, type ServerConfig } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { textOf } from '../support/wire-message.ts';

const IS_ROOT = process.getuid?.() === 0;
const HAS_BWRAP = existsSync('/usr/bin/bwrap') && IS_ROOT;
const NOBODY = 65_534;

interface Look {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly pid: number;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly limits: string;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
}

const probe = (config: ServerConfig = {}): ServerConfig => ({
  command: process.execPath,
  args: [join(FIXTURES, 'probe.ts')],
  ...config,
});

async function look(session: LegacySession, paths: readonly string[] = []): Promise<Look> {
  return JSON.parse(textOf(await session.call('look', { paths }))) as Look;
}

/** What a process has open that another one could have got from it. */
function shareable(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`)
    .map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
    .filter((file) => /^(socket|pipe):/.test(file) || file.startsWith('/'))
    .filter((file) => !file.startsWith('/dev/'));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed meanwhile
  }
}

describe('a child', () => {
  const secret = join(tempDir(), 'secret');
  writeFileSync(secret, '');
  const given = openSync(secret, 'r');
  afterAll(() => closeSync(given));
  const harness = useGateway(() => ({
    ownProcess: true,
    inherited: [given],
    servers: {
      one: probe(),
      literal: probe({
        args: [join(FIXTURES, 'probe.ts'), '$(id)', ';', '\' "', '', '--x', 'a\nb', '`id`'],
      }),
    },
  }));

  it('has none of the gateway’s files, sockets and pipes (E06)', async () => {
    const { files } = await look(await harness.session());
    // What the gateway was given itself, by whoever runs the tests, is not its own.
    const given = shareable(process.pid);
    const own = shareable(harness.gateway.pid).filter((file) => !given.includes(file));
    expect(own.length).toBeGreaterThan(3);
    expect(own.filter((file) => files.includes(file))).toEqual([]);
  });

  it('has no file that the gateway was started with', async () => {
    const { files } = await look(await harness.session());
    expect(files).not.toContain(secret);
    const watcher = watcherOf(harness.gateway.pid)?.pid ?? 0;
    expect(readdirSync(`/proc/${watcher}/fd`).length).toBeLessThanOrEqual(4);
  });

  it('gets its arguments as they are (E03)', async () => {
    const { argv } = await look(await harness.session({ server: 'literal' }));
    expect(argv).toEqual(['$(id)', ';', '\' "', '', '--x', 'a\nb', '`id`']);
  });
});

describe('limits', () => {
  const limits = { memory: '3GiB', openFiles: 123, processes: 4567, cpu: '90s', fileSize: '2MiB' };
  const harness = useGateway(() => ({
    ownProcess: true,
    servers: { one: probe({ limits }), spinning: probe({ start: 'lazy', limits: { cpu: '1s' } }) },
  }));

  it('are the system’s, and the process can not raise them', async () => {
    const seen = await look(await harness.session());
    const rows = seen.limits.split('\n').map((row) => row.split(/\s{2,}/));
    const limitOf = (name: string): unknown => rows.find(([title]) => title === name)?.slice(1, 3);
    expect(limitOf('Max data size')).toEqual([`${3 * 2 ** 30}`, `${3 * 2 ** 30}`]);
    expect(limitOf('Max open files')).toEqual(['123', '123']);
    expect(limitOf('Max processes')).toEqual(['4567', '4567']);
    expect(limitOf('Max cpu time')).toEqual(['90', '90']);
    expect(limitOf('Max file size')).toEqual([`${2 * 2 ** 20}`, `${2 * 2 ** 20}`]);
  });

  it('that are reached end the process, and it is started again', async () => {
    const session = await harness.session({ server: 'spinning' });
    const { pid } = await look(session);
    await session.call('spin').catch(() => undefined);
    await waitGone([pid]);
    expect((await look(session)).pid).not.toBe(pid);
  });
});

describe.skipIf(!IS_ROOT)('runAs', () => {
  const secrets = tempDir();
  const files = { key: join(secrets, 'key'), open: join(secrets, 'open') };
  for (const file of Object.values(files)) writeFileSync(file, 'x');
  chmodSync(files.key, 0o600);
  const harness = useGateway(() => ({
    ownProcess: true,
    servers: {
      one: probe({ cwd: '/', runAs: { user: 'nobody' } }),
      numeric: probe({ cwd: '/', runAs: { user: 12_345, group: 54_321 }, env: { HOME: '/own' } }),
      limited: probe({ cwd: '/', runAs: { user: 'nobody' }, limits: { openFiles: 99 } }),
    },
    env: { SLUICE_CANARY: 'the secret of the gateway' },
  }));

  it('is that user, without other groups, in a home of its own', async () => {
    const seen = await look(await harness.session());
    expect(seen).toMatchObject({ uid: NOBODY, gid: NOBODY });
    expect(seen.groups.filter((group) => group !== NOBODY)).toEqual([]);
    expect(seen.env).toMatchObject({ USER: 'nobody', LOGNAME: 'nobody', HOME: '/nonexistent' });
    const status = readFileSync(`/proc/${seen.pid}/status`, 'utf8');
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapPrm:\t0+$/m);
  });

  it('may be one that the system does not know', async () => {
    const seen = await look(await harness.session({ server: 'numeric' }));
    expect(seen).toMatchObject({ uid: 12_345, gid: 54_321 });
    expect(seen.env['HOME']).toBe('/own');
    expect(seen.env['USER']).toBeUndefined();
  });

  it('keeps what is the gateway’s from the process (E05, E10)', async () => {
    const { pid, folder } = harness.gateway;
    const config = join(folder, 'sluice.yaml');
    chmodSync(config, 0o600);
    const paths = [`/proc/${pid}/environ`, `/proc/${pid}/maps`, files.key, config];
    const seen = await look(await harness.session(), [...paths, '/etc/passwd']);
    expect(seen.readable).toEqual(['/etc/passwd']);
    expect(seen.writable).toEqual([]);
    expect(JSON.stringify(seen.env)).not.toContain('the secret of the gateway');
  });

  it('goes with limits, and ends with the session', async () => {
    const seen = await look(await harness.session({ server: 'limited' }));
    expect(seen.uid).toBe(NOBODY);
    expect(seen.limits).toMatch(/Max open files\s+99\s+99/);
    process.kill(seen.pid, 'SIGKILL');
    await waitGone([seen.pid]);
    const session = await harness.session({ server: 'limited' });
    await until(async () => (await look(session)).uid === NOBODY);
  });
});

describe.skipIf(!HAS_BWRAP)('wrap', () => {
  const sandbox = [
    ...['bwrap', '--ro-bind', '/', '/', '--tmpfs', '/tmp', '--dev', '/dev'],
    // The checkout may be below it.
    ...[FIXTURES, process.execPath].flatMap((path) => ['--ro-bind', path, path]),
    ...['--unshare-pid', '--proc', '/proc', '--unshare-net', '--die-with-parent', '--'],
  ];
  const harness = useGateway(() => ({
    ownProcess: true,
    servers: { one: probe({ cwd: '/', wrap: sandbox, limits: { openFiles: 77 } }) },
    env: { SLUICE_CANARY: 'the secret of the gateway' },
  }));

  it('puts a sandbox around the command: nothing of the gateway is there', async () => {
    const { pid, folder } = harness.gateway;
    const paths = [`/proc/${pid}/environ`, join(folder, 'sluice.yaml')];
    const seen = await look(await harness.session(), [...paths, '/etc/passwd']);
    expect(seen.readable).toEqual(['/etc/passwd']);
    expect(seen.pid).toBeLessThan(10);
    expect(seen.limits).toMatch(/Max open files\s+77\s+77/);
  });

  it('ends as a whole', async () => {
    const find = (): number[] =>
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(Number)
        .filter((pid) => isAlive(pid) && cmdlineOf(pid).includes(join(FIXTURES, 'probe.ts')));
    expect(find().length).toBeGreaterThan(0);
    const before = find();
    await harness.stop();
    await waitGone(before);
    await harness.start();
  });
});

function cmdlineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
