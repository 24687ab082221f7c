// How much may be held open, and by whom it may stay open.
import { expect, it, vi } from 'vitest';
import { Leases } from '../../../src/listener/leases.ts';

const A = { key: 'a' };
const B = { key: 'b' };
const lease = (principal: { readonly key: string }) => ({ principal, end: vi.fn() });

it('GW-157 one principal has no more than its share, and gets it back', () => {
  const leases = new Leases({ holds: () => true, maxPerPrincipal: 2 });
  const first = lease(A);
  for (const one of [first, lease(A)]) leases.take(one);
  expect([leases.refusal(A), leases.refusal(B)]).toEqual(['own', undefined]);
  leases.release(first);
  leases.release(first);
  expect(leases.refusal(A)).toBeUndefined();
});

it('A12 all together have no more than there can be', () => {
  const leases = new Leases({ holds: () => true, maxPerPrincipal: undefined });
  for (let at = 0; at < 20_000; at++) leases.take({ principal: A, end: () => undefined });
  expect(leases.refusal(B)).toBe('all');
});

it('G08 what a principal has no more right to is ended, nothing else', () => {
  const leases = new Leases({ holds: ({ key }) => key === 'b', maxPerPrincipal: undefined });
  const [own, other] = [lease(A), lease(B)];
  for (const one of [own, other]) leases.take(one);
  leases.sweep();
  expect(own.end).toHaveBeenCalledOnce();
  expect(other.end).not.toHaveBeenCalled();
});
