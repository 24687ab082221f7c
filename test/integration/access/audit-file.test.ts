/**
 * The file of the audit log: moved away by whoever rotates logs, and one that can't be written, with and
 * without `audit.required` (F56).
 */
import { existsSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fetchMetrics, metricSum } from '../../support/metrics.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { useScripted } from '../../support/use-gateway.ts';

/** Takes nothing: a disk that is full. */
const FULL = '/dev/full';

type Line = Readonly<Record<string, unknown>>;

const linesOf = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
const calledIn = (file: string): unknown[] =>
  linesOf(file).flatMap(({ target, outcome }) => (outcome === 'ok' ? [target] : []));

/** Puts a link to `target` where the log is, in one step. */
function linkTo(target: string, path: string): void {
  symlinkSync(target, `${path}.new`);
  renameSync(`${path}.new`, path);
}

describe('a file that is moved away', () => {
  const file = join(tempDir(), 'audit.jsonl');
  const { rig } = useScripted(scriptedServer(), { config: { audit: { to: file } } });

  it('is made anew, and no line is lost', async () => {
    const session = await rig.session();
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
    const samples = await fetchMetrics(rig.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_audit_lost_total')).toBe(0);
  });
});

describe('with audit.required', () => {
  const file = join(tempDir(), 'audit.jsonl');
  linkTo(FULL, file);
  const { rig, journal } = useScripted(scriptedServer(), {
    config: { audit: { to: file, required: true } },
  });

  it('nothing is done that could not be written, until it can be again (F56)', async () => {
    const failure = { data: { reason: 'overloaded', outcome: 'not_sent' } };
    const log = ({ msg }: Line): boolean => msg === 'audit log can not be written';
    await rig.gateway.waitForLog(log);
    await expect(rig.session()).rejects.toThrow('audit.required');
    const modern = rig.track(new ModernClient(rig.url()));
    const refused = await modern.call('echo', { secret: 1 });
    expect(refused.error).toMatchObject(failure);
    expect(refused.error?.message).toContain("can't write its audit log (audit.required)");
    expect(journal.messages('tools/call')).toEqual([]);

    const real = join(tempDir(), 'real.jsonl');
    linkTo(real, file);
    await until(async () => (await modern.call('echo')).result !== undefined);
    const session = await rig.session();
    expect(await session.call('echo')).toHaveProperty('result');
    await until(() => calledIn(real).length > 1);
    await rig.gateway.waitForLog(({ msg }) => msg === 'audit log can be written again');

    linkTo(FULL, file);
    await until(async () => (await session.call('echo')).error !== undefined);
    expect((await session.call('echo')).error).toMatchObject(failure);
    linkTo(real, file);
    await until(async () => (await session.call('echo')).result !== undefined);
  });
});

describe('without audit.required', () => {
  const { rig } = useScripted(scriptedServer(), { config: { audit: { to: FULL } } });

  it('calls go on, and what is lost is counted (F56)', async () => {
    const session = await rig.session();
    const lost = async (): Promise<number> =>
      metricSum(await fetchMetrics(rig.gateway.adminUrl), 'sluice_audit_lost_total', {
        reason: 'error',
      });
    await until(async () => (await lost()) > 0);
    expect(await session.call('echo')).toHaveProperty('result');
  });
});
