/**
 * The file of the audit log: moved away by whoever rotates logs, one that can't be written, with and
 * without `audit.required` (F56), and one that others could read or lead elsewhere.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startGateway } from '../../support/gateway.ts';
import { fetchMetrics, metricSum } from '../../support/metrics.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { type GatewayUnderTest, useScripted } from '../../support/use-gateway.ts';

type Line = Readonly<Record<string, unknown>>;

const linesOf = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
const calledIn = (file: string): unknown[] =>
  linesOf(file).flatMap(({ target, outcome }) => (outcome === 'ok' ? [target] : []));
const failed = ({ msg }: Line): boolean => msg === 'audit log can not be written';
const mended = ({ msg }: Line): boolean => msg === 'audit log can be written again';
const metricOf = async (harness: GatewayUnderTest, name: string): Promise<number> =>
  metricSum(await fetchMetrics(harness.gateway.adminUrl), name);

/** Lets no file of a process grow over a size, as a full disk would. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

describe('a file that is moved away', () => {
  const file = join(tempDir(), 'audit.jsonl');
  const { harness } = useScripted(scriptedServer(), { config: { audit: { to: file } } });

  it('is made anew, and no line is lost', async () => {
    const session = await harness.session();
    await session.call('echo');
    await until(() => calledIn(file).includes('echo'));
    const moved = `${file}.1`;
    renameSync(file, moved);
    let calls = 1;
    await until(async () => {
      calls++;
      await session.call('echo');
      return existsSync(file) && calledIn(file).length > 0;
    });
    await until(() => [...calledIn(moved), ...calledIn(file)].length === calls);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(linesOf(moved)[0]).toMatchObject({ log: 'audit', event: 'started' });
    expect(await metricOf(harness, 'sluice_audit_lost_total')).toBe(0);
  });
});

describe('a disk that is full', () => {
  const file = join(tempDir(), 'audit.jsonl');
  const { harness } = useScripted(scriptedServer(), {
    ownProcess: true,
    config: { audit: { to: file } },
  });

  it('has whole lines, over a rotation too, and none is lost or counted as lost', async () => {
    const session = await harness.session();
    await session.call('echo');
    await until(() => calledIn(file).length === 1);
    // The next line fits in part, in this file and in the next one.
    limitFiles(harness.gateway.pid, statSync(file).size + 100);
    for (let call = 0; call < 20; call++) await session.call('echo');
    await harness.gateway.waitForLog(failed);
    await until(async () => (await metricOf(harness, 'sluice_audit_waiting_lines')) === 20);
    // What was written of a line is taken back at once, each time that it is tried.
    await until(() => readFileSync(file, 'utf8').endsWith('}\n'));
    const moved = `${file}.1`;
    renameSync(file, moved);
    let calls = 21;
    await until(async () => {
      calls++;
      await session.call('echo');
      return existsSync(file) && calledIn(file).length > 0;
    });
    await until(() => statSync(file).size > 0 && readFileSync(file, 'utf8').endsWith('}\n'));
    limitFiles(harness.gateway.pid, 'unlimited');
    await until(() => calledIn(moved).length + calledIn(file).length === calls);
    await harness.gateway.waitForLog(mended);
    expect(await metricOf(harness, 'sluice_audit_waiting_lines')).toBe(0);
    expect(await metricOf(harness, 'sluice_audit_lost_total')).toBe(0);
  });
});

describe('with audit.required', () => {
  const file = join(tempDir(), 'audit.jsonl');
  const { harness, journal } = useScripted(scriptedServer(), {
    ownProcess: true,
    config: { audit: { to: file, required: true } },
  });

  it('nothing is done that could not be written, until it can be again (F56)', async () => {
    const failure = { data: { reason: 'overloaded', outcome: 'not_sent' } };
    const modern = harness.track(new ModernClient(harness.url()));
    const session = await harness.session();
    await until(async () => (await modern.call('echo')).result !== undefined);
    limitFiles(harness.gateway.pid, 0);
    await until(async () => (await modern.call('echo')).error !== undefined);
    await harness.gateway.waitForLog(failed);
    const before = journal.messages('tools/call').length;
    const refused = await modern.call('echo', { secret: 1 });
    expect(refused.error).toMatchObject(failure);
    expect(refused.error?.message).toContain("can't write its audit log (audit.required)");
    expect((await session.call('echo')).error).toMatchObject(failure);
    await expect(harness.session()).rejects.toThrow('audit.required');
    expect(journal.messages('tools/call')).toHaveLength(before);

    limitFiles(harness.gateway.pid, 'unlimited');
    await until(async () => (await modern.call('echo')).result !== undefined);
    expect(await session.call('echo')).toHaveProperty('result');
    await harness.gateway.waitForLog(mended);
    // What was refused is in it too, with what came before.
    await until(() => linesOf(file).filter(({ outcome }) => outcome === 'failed').length >= 3);
    expect(await metricOf(harness, 'sluice_audit_lost_total')).toBe(0);
  });
});

describe('without audit.required', () => {
  const { harness } = useScripted(scriptedServer(), { config: { audit: { to: '/dev/full' } } });

  it('calls go on while lines wait, and none counts as lost yet (F56)', async () => {
    await harness.gateway.waitForLog(failed);
    const session = await harness.session();
    expect(await session.call('echo')).toHaveProperty('result');
    await until(async () => (await metricOf(harness, 'sluice_audit_waiting_lines')) > 2);
    expect(await metricOf(harness, 'sluice_audit_lost_total')).toBe(0);
  });
});

describe('a file that was there before', () => {
  const file = join(tempDir(), 'audit.jsonl');
  writeFileSync(file, '{"old":true}\n');
  chmodSync(file, 0o666);
  const { harness } = useScripted(scriptedServer(), { config: { audit: { to: file } } });

  it('goes on, for its owner only', async () => {
    await (await harness.session()).call('echo');
    await until(() => calledIn(file).length === 1);
    expect(linesOf(file)[0]).toEqual({ old: true });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('that becomes a symbolic link gets no line there', async () => {
    const elsewhere = join(tempDir(), 'elsewhere');
    writeFileSync(elsewhere, '');
    const moved = `${file}.1`;
    renameSync(file, moved);
    symlinkSync(elsewhere, file);
    const session = await harness.session();
    await until(async () => {
      await session.call('echo');
      return harness.gateway.logs().some(failed);
    });
    const count = calledIn(moved).length;
    await session.call('echo');
    await until(() => calledIn(moved).length > count);
    expect(readFileSync(elsewhere, 'utf8')).toBe('');
  });
});

it('a symbolic link is refused at the start', async () => {
  const folder = tempDir();
  const file = join(folder, 'audit.jsonl');
  writeFileSync(join(folder, 'elsewhere'), '');
  symlinkSync('elsewhere', file);
  const started = startGateway({
    servers: { one: scriptedServer().config },
    config: { audit: { to: file } },
  });
  await expect(started).rejects.toThrow(`audit.to: is ${file}, a symbolic link: must be the path`);
  expect(readFileSync(join(folder, 'elsewhere'), 'utf8')).toBe('');
});
