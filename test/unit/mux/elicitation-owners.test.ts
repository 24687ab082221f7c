/** B15: who hears of the end of an elicitation that a server gave an id. */
import { expect, it } from 'vitest';
import { ElicitationOwners } from '../../../src/mux/elicitation-owners.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';

const clientOf = (key: string): Downstream => ({ principal: { key } }) as Downstream;
const ann = clientOf('ann');
const bob = clientOf('bob');

it('only who was asked hears of it, and once (B15)', () => {
  const owners = new ElicitationOwners();
  owners.given('a', ann);
  owners.given('b', bob);
  expect([owners.end('a'), owners.end('b')]).toEqual([ann, bob]);
  expect([owners.end('a'), owners.end('c')]).toEqual([undefined, undefined]);
});

it('an id that two people were given says nothing of whose it is (B15)', () => {
  const owners = new ElicitationOwners();
  owners.given('1', ann);
  owners.given('1', bob);
  owners.given('1', ann);
  expect(owners.end('1')).toBeUndefined();
  // It is used up: the next one is somebody's again.
  owners.given('1', bob);
  expect(owners.end('1')).toBe(bob);
});

it('of several sessions of one person the last one that was asked hears of it', () => {
  const owners = new ElicitationOwners();
  const again = clientOf('ann');
  owners.given('1', ann);
  owners.given('1', again);
  expect(owners.end('1')).toBe(again);
});

it('nobody hears of what was asked of a client that left, nor of too many', () => {
  const owners = new ElicitationOwners();
  owners.given('a', ann);
  owners.left(ann);
  expect(owners.end('a')).toBeUndefined();
  for (let at = 0; at <= 1_000; at++) owners.given(String(at), bob);
  expect([owners.end('0'), owners.end('1')]).toEqual([undefined, bob]);
});
