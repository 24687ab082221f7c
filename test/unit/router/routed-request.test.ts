import { describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { callMessage, errorMessage } from '../../../src/jsonrpc/serialize.ts';
import type { Request } from '../../../src/ports/request.ts';
import { RoutedRequest, tryInOrder } from '../../../src/router/aggregate/routed-request.ts';
import { settleBy } from '../../support/outcomes.ts';

const FRAME = scan(callMessage('resources/read', { uri: 'a:1' }, 1));
const NOT_FOUND = { code: -32002, message: 'none' };

/** A client's request, and the servers that it was sent to in turn. */
function asked(servers: readonly string[]) {
  const told = { respond: vi.fn(), refuse: vi.fn(), fail: vi.fn() };
  const original = {
    frame: FRAME,
    client: {},
    isSettled: false,
    ...told,
    settle: settleBy(told),
  };
  const sent: RoutedRequest[] = [];
  tryInOrder(servers, (_server, onNotFound) => {
    const options = { onNotFound, expose: (uri: string) => uri };
    sent.push(new RoutedRequest(original as unknown as Request, { frame: FRAME }, options));
  });
  return { original, sent };
}

function failure(outcome: 'not_sent' | 'unknown'): GatewayError {
  return new GatewayError('server_unavailable', 'gone', { outcome });
}

describe('a request that several servers may have to answer', () => {
  it('goes to the next one when one has not what is asked for', () => {
    const { original, sent } = asked(['a', 'b']);
    expect(sent).toHaveLength(1);
    sent[0]?.settle(NOT_FOUND);
    expect(sent).toHaveLength(2);
    expect(original.refuse).not.toHaveBeenCalled();
  });

  it('goes to the next one when one can not be reached', () => {
    const { original, sent } = asked(['a', 'b']);
    sent[0]?.settle(failure('not_sent'));
    expect(sent).toHaveLength(2);
    expect(original.fail).not.toHaveBeenCalled();
  });

  it('fails when one may have run it', () => {
    const { original, sent } = asked(['a', 'b']);
    sent[0]?.settle(failure('unknown'));
    expect(sent).toHaveLength(1);
    expect(original.fail).toHaveBeenCalledOnce();
  });

  it('ends with what the first one said when none has it', () => {
    const { original, sent } = asked(['a', 'b']);
    sent[0]?.settle(NOT_FOUND);
    sent[1]?.settle(scan(errorMessage(Buffer.from('1'), { code: -1, message: 'second' })));
    expect(original.refuse).toHaveBeenCalledExactlyOnceWith(NOT_FOUND);
    expect(original.respond).not.toHaveBeenCalled();
  });
});

it('a large result reaches the client with its own URIs, in a later turn', async () => {
  const memberLease = (uri: string) => ({ type: 'resource_link', name: 'n', uri });
  const content = (prefix: string) =>
    Array.from({ length: 5_000 }, (_, at) => memberLease(`${prefix}a:${at}`));
  const answered = Promise.withResolvers<Buffer>();
  const told = { respond: vi.fn(), fail: vi.fn() };
  const original = {
    frame: scan(callMessage('tools/call', { name: 't' }, 1)),
    ...told,
    settle: settleBy({ ...told, answer: answered.resolve }),
  };
  const routed = new RoutedRequest(original as unknown as Request, original, {
    onNotFound: undefined,
    expose: (uri) => `s+${uri}`,
  });
  const answer = { jsonrpc: '2.0', id: 1, result: { content: content('') } };
  routed.settle(scan(Buffer.from(JSON.stringify(answer))));
  expect(JSON.parse(String(await answered.promise))).toEqual({ content: content('s+') });
  expect(original.respond).not.toHaveBeenCalled();
  expect(original.fail).not.toHaveBeenCalled();
});
