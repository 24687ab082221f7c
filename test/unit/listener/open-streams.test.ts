// How much may be held open, and by whom it may stay open.
import { expect, it, vi } from 'vitest';
import { OpenStreams } from '../../../src/listener/open-streams.ts';

const A = { key: 'a' };
const B = { key: 'b' };
const openStream = (principal: { readonly key: string }) => ({ principal, end: vi.fn() });

it('GW-157 one principal has no more than its share, and gets it back', () => {
  const openStreams = new OpenStreams({ holds: () => true, maxPerPrincipal: 2 });
  const first = openStream(A);
  for (const one of [first, openStream(A)]) openStreams.take(one);
  expect([openStreams.refusal(A), openStreams.refusal(B)]).toEqual(['own', undefined]);
  openStreams.release(first);
  openStreams.release(first);
  expect(openStreams.refusal(A)).toBeUndefined();
});

it('A12 all together have no more than there can be', () => {
  const openStreams = new OpenStreams({ holds: () => true, maxPerPrincipal: undefined });
  for (let at = 0; at < 20_000; at++) openStreams.take({ principal: A, end: () => undefined });
  expect(openStreams.refusal(B)).toBe('all');
});

it('G08 what a principal has no more right to is ended, nothing else', () => {
  const openStreams = new OpenStreams({
    holds: ({ key }) => key === 'b',
    maxPerPrincipal: undefined,
  });
  const [own, other] = [openStream(A), openStream(B)];
  for (const one of [own, other]) openStreams.take(one);
  openStreams.sweep();
  expect(own.end).toHaveBeenCalledOnce();
  expect(other.end).not.toHaveBeenCalled();
});
