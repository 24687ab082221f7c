// Which processes may start when: strangers' hanging starts must leave room for everybody else's.
import { expect, it } from 'vitest';
import type { Principal } from '../../../src/ports/principal.ts';
import { type StartTurn, StartTurns } from '../../../src/upstream/start-turns.ts';

const person = (key: string): Principal => ({ key, kind: 'key' });
const NOBODY: Principal = { key: 'anonymous', kind: 'anonymous' };

/** Starts by name, in the order in which they got their turn. */
function turnsOf(max: number) {
  const turns = new StartTurns(max);
  const started: string[] = [];
  const running = new Map<string, StartTurn>();
  const ask = (name: string, server: string, principal?: Principal): void => {
    void turns.take({ server, principal }).then((turn) => {
      started.push(name);
      running.set(name, turn);
    });
  };
  const end = async (name: string, isReady: boolean): Promise<void> => {
    running.get(name)?.end(isReady);
    await settled();
  };
  return { started, ask, end };
}

/** What was resolved has been told by then. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

it('one principal has half of the starts at most', async () => {
  const { started, ask } = turnsOf(4);
  for (const name of ['a1', 'a2', 'a3']) ask(name, `server of ${name}`, person('a'));
  ask('b1', 'other', person('b'));
  await settled();
  expect(started).toEqual(['a1', 'a2', 'b1']);
});

it('one server has half of the starts at most', async () => {
  const { started, ask } = turnsOf(4);
  for (const name of ['a', 'b', 'c']) ask(name, 'hangs', person(name));
  ask('d', 'other', person('d'));
  await settled();
  expect(started).toEqual(['a', 'b', 'd']);
});

it('private processes leave one for shared ones, which come first', async () => {
  const { started, ask, end } = turnsOf(2);
  ask('a', 'one', person('a'));
  ask('b', 'two', person('b'));
  ask('shared', 'three');
  ask('shared too', 'four');
  await settled();
  expect(started).toEqual(['a', 'shared']);
  await end('a', true);
  expect(started).toEqual(['a', 'shared', 'shared too']);
  await end('shared', true);
  expect(started).toEqual(['a', 'shared', 'shared too', 'b']);
});

it('principals take turns', async () => {
  const { started, ask, end } = turnsOf(2);
  ask('a1', 'one', person('a'));
  for (const name of ['a2', 'a3']) ask(name, `server of ${name}`, person('a'));
  ask('b1', 'two', person('b'));
  await settled();
  await end('a1', true);
  await end('a2', true);
  expect(started).toEqual(['a1', 'a2', 'b1']);
});

it('those whose last starts failed have half of the starts together', async () => {
  const { started, ask, end } = turnsOf(6);
  const bad = ['a', 'b', 'c', 'd', 'e'];
  for (const name of bad) ask(name, `hangs ${name}`, person(name));
  await settled();
  for (const name of bad) await end(name, false);
  for (const name of bad) ask(`${name} again`, `hangs ${name}`, person(name));
  ask('new', 'fine', person('f'));
  await settled();
  expect(started.slice(5)).toEqual(['a again', 'b again', 'c again', 'new']);
  await end('a again', true);
  expect(started.at(-1)).toBe('d again');
});

it('without authentication servers take turns, and clients share no limit', async () => {
  const { started, ask } = turnsOf(4);
  for (const server of ['one', 'two', 'three', 'four']) ask(server, server, NOBODY);
  await settled();
  expect(started).toEqual(['one', 'two', 'three']);
});

it('with one start at a time everybody has a turn', async () => {
  const { started, ask, end } = turnsOf(1);
  ask('a', 'one', person('a'));
  ask('b', 'two', person('b'));
  await settled();
  expect(started).toEqual(['a']);
  await end('a', false);
  expect(started).toEqual(['a', 'b']);
});
