// What calls need of a server's list of tools: it is waited for once, and asked for beside them later.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AllLists } from '../../../src/catalog/all-lists.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import type { Lease } from '../../../src/ports/lease.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LIST = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}';

/** A server whose list comes when the test says so. */
function setUp() {
  const asked: ((text: string | undefined) => void)[] = [];
  const key = {};
  const state = { identity: { capabilities: { tools: {} } } };
  const lease = {
    server: 's',
    isDown: false,
    get identity() {
      return state.identity;
    },
    listKey: () => key,
    running: () => Promise.resolve(),
    list: () =>
      new Promise((resolve) => {
        asked.push((text) => resolve(text === undefined ? text : scan(Buffer.from(text))));
      }),
  } as unknown as Lease;
  const lists = new AllLists(createLogger({ level: 'fatal', messages: false }));
  /** A call that needs the list: with how many tools it goes on, once it does. */
  const call = () => {
    const call: { result: number | 'waits' | undefined } = { result: 'waits' };
    void lists.read(lease).then((tools) => {
      call.result = tools?.length;
    });
    return call;
  };
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  return { asked, lease, state, lists, call, pass };
}

it('the first call waits a second for a list that does not come, no other call waits', async () => {
  const { asked, call, pass } = setUp();
  const first = call();
  await pass(900);
  expect(first.result).toBe('waits');
  await pass(200);
  expect(first.result).toBeUndefined();
  for (let at = 0; at < 5; at++) {
    const next = call();
    await pass(0);
    expect(next.result).toBeUndefined();
  }
  expect(asked).toHaveLength(1);
});

it('a list that comes late is known from then on', async () => {
  const { asked, lease, lists, call, pass } = setUp();
  call();
  await pass(2_000);
  asked[0]?.(LIST);
  await pass(0);
  expect(lists.current(lease)).toHaveLength(1);
});

it('a list that comes soon is waited for', async () => {
  const { asked, call, pass } = setUp();
  const first = call();
  await pass(500);
  asked[0]?.(LIST);
  await pass(0);
  expect(first.result).toBe(1);
});

it('a list that was not given is asked for again after a while, beside the calls', async () => {
  const { asked, lease, lists, call, pass } = setUp();
  const first = call();
  await pass(100);
  asked[0]?.(undefined);
  await pass(0);
  expect(first.result).toBeUndefined();
  await pass(29_000);
  call();
  await pass(0);
  expect(asked).toHaveLength(1);
  await pass(2_000);
  const later = call();
  await pass(0);
  expect(later.result).toBeUndefined();
  expect(asked).toHaveLength(2);
  asked[1]?.(LIST);
  await pass(0);
  expect(lists.current(lease)).toHaveLength(1);
});

it('the next life of the server is waited for once, too', async () => {
  const { state, call, pass } = setUp();
  call();
  await pass(2_000);
  state.identity = { capabilities: { tools: {} } };
  const first = call();
  await pass(0);
  expect(first.result).toBe('waits');
  await pass(2_000);
});
