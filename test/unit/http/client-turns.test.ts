/** What clients of different kinds may cost in one turn of the event loop. */
import { expect, it } from 'vitest';
import { addressQuota, operatorQuota, PrincipalTurns } from '../../../src/http/client-turns.ts';

const MIB = 1024 * 1024;

it('what strangers send keeps nobody waiting who is known, nor operators', () => {
  const [stranger, other] = [addressQuota(), addressQuota()];
  const known = new PrincipalTurns().of({ key: 'somebody', kind: 'key' });
  stranger.spend(MIB);
  expect([stranger.isSpent, other.isSpent]).toEqual([true, true]);
  expect([known?.isSpent, operatorQuota().isSpent]).toEqual([false, false]);
});

it('one principal leaves others something of a turn', () => {
  const principals = new PrincipalTurns();
  const [busy, quiet] = ['busy', 'quiet'].map((key) => principals.of({ key, kind: 'key' }));
  while (busy?.isSpent === false) busy.spend(0);
  expect(quiet?.isSpent).toBe(false);
});
