/** What a server of the session era is told of resources when clients with many come and go. */
import { expect, it } from 'vitest';
import { nextTurn } from '../../../src/base/turns.ts';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { LegacySubscriptions } from '../../../src/upstream/upstream-subscriptions.ts';

const answerOf = (members: object): Frame =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...members })));
const AGREED = answerOf({ result: {} });

function setUp() {
  const wanted = new Set<string>();
  const sent: string[] = [];
  const open: (() => void)[] = [];
  const paced = new LegacySubscriptions({
    wanted: () => ({ uris: [], taskIds: [] }),
    isWanted: (uri) => wanted.has(uri),
    request: (method, { uri }) => {
      sent.push(`${method.replace('resources/', '')} ${uri}`);
      return new Promise((resolve) => open.push(() => resolve(AGREED)));
    },
  });
  const answered: string[] = [];
  const watch = (uri: string): void => {
    wanted.add(uri);
    void paced.subscribeAll([uri], (_, error) => {
      if (error === undefined) answered.push(uri);
    });
  };
  const leave = (uri: string): void => {
    wanted.delete(uri);
    paced.unsubscribeAll([uri]);
  };
  const answerAll = async (): Promise<void> => {
    for (const answer of open.splice(0)) answer();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  };
  return { sent, open, answered, watch, leave, answerAll };
}

it('has some requests open at a time, and makes all of them', async () => {
  const { sent, open, answered, watch, answerAll } = setUp();
  for (let at = 0; at < 1_000; at++) watch(`a:${at}`);
  let most = 0;
  while (answered.length < 1_000) {
    most = Math.max(most, open.length);
    await answerAll();
  }
  expect(most).toBeLessThanOrEqual(256);
  expect(sent).toHaveLength(1_000);
});

it('sends nothing of what was undone before its turn, and unsubscribes only what the server knows', async () => {
  const { sent, answered, watch, leave, answerAll } = setUp();
  for (let at = 0; at < 1_000; at++) watch(`a:${at}`);
  const known = sent.length;
  expect(known).toBeLessThan(1_000);
  for (let at = 0; at < 1_000; at++) leave(`a:${at}`);
  await answerAll();
  await answerAll();
  expect(sent.filter((text) => text.startsWith('subscribe'))).toHaveLength(known);
  expect(sent.filter((text) => text.startsWith('unsubscribe'))).toHaveLength(known);
  expect(answered.length).toBe(known);
});

it('tells the server of a resource that somebody watches after all', async () => {
  const { sent, watch, leave, answerAll } = setUp();
  for (let at = 0; at < 300; at++) watch(`a:${at}`);
  // It was never sent.
  leave('a:299');
  watch('a:299');
  await answerAll();
  await answerAll();
  expect(sent).toContain('subscribe a:299');
});

it('waits for the answer to a request that is open already', async () => {
  const answers: PromiseWithResolvers<Frame | undefined>[] = [];
  const paced = new LegacySubscriptions({
    wanted: () => ({ uris: [], taskIds: [] }),
    isWanted: () => true,
    request: () => {
      const answer = Promise.withResolvers<Frame | undefined>();
      answers.push(answer);
      return answer.promise;
    },
  });
  const refused = { code: -32002, message: 'No such resource.' };
  const told: unknown[] = [];
  const first = paced.subscribe('a:b');
  void paced.subscribeAll(['a:b'], (_, error) => told.push(error));
  await nextTurn();
  expect(told).toEqual([]);
  answers[0]?.resolve(answerOf({ error: refused }));
  expect(await first).toEqual(refused);
  await nextTurn();
  expect(told).toEqual([refused]);
  void paced.subscribeAll(['a:b'], (_, error) => told.push(error));
  expect(answers).toHaveLength(2);
});
