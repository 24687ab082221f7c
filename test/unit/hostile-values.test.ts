/**
 * Values that no peer means well with: objects that can't be text, strings that look like objects, lists
 * longer than any call may have arguments. What breaks all the same fails one request.
 */
import { describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { editObject, membersOf } from '../../src/jsonrpc/members.ts';
import { scan } from '../../src/jsonrpc/scan.ts';
import { isHeaderFor } from '../../src/mcp/header-values.ts';
import { readableResult } from '../../src/mcp/old-content.ts';
import { hasValidHeaders } from '../../src/mcp/param-headers.ts';
import { settleWith } from '../../src/mux/malformed.ts';
import type { Request } from '../../src/ports/request.ts';
import { contain } from '../../src/ports/request.ts';
import { isWellFormed } from '../../src/translate/input-requests.ts';
import { createdTask } from '../../src/translate/tasks/task-text.ts';
import { settleBy } from '../support/outcomes.ts';

/** String() of it throws. */
const NO_TEXT = { toString: 1, valueOf: 1 };
/** A string that read as an object has a member with a broken key. */
const STRING = Buffer.from('"\\\\\\":1 resource_link"');

describe('a value that can not be text', () => {
  it('is no action, no header, no type and no id', () => {
    expect(isWellFormed('elicitation/create', { action: NO_TEXT })).toBe(false);
    expect(isHeaderFor('x', NO_TEXT)).toBe(false);
    const schema = { properties: { a: { 'x-mcp-header': 'A', type: NO_TEXT } } };
    expect(hasValidHeaders(schema)).toBe(false);
    const task = { jsonrpc: '2.0', id: 1, result: { task: { taskId: NO_TEXT } } };
    expect(createdTask(scan(Buffer.from(JSON.stringify(task))))).toBeUndefined();
  });

  it('leaves a link as it is', () => {
    const result = { content: [{ type: 'resource_link', name: 'a', uri: NO_TEXT }] };
    const text = Buffer.from(JSON.stringify(result));
    expect(readableResult(text, '2024-11-05')).toBe(text);
  });
});

describe('a string where an object is meant', () => {
  it('has no members', () => {
    expect(membersOf(STRING, 0, STRING.length)).toEqual([]);
    expect(editObject(STRING, 0, STRING.length, {}).toString()).toBe('{}');
    expect(readableResult(STRING, '2024-11-05')).toBe(STRING);
  });
});

describe('a request at which the gateway breaks', () => {
  const broken = new TypeError('Cannot convert object to primitive value');
  const request = () => {
    const told = { respond: vi.fn(), fail: vi.fn() };
    return { ...told, settle: settleBy(told) };
  };
  const failureOf = ({ fail }: ReturnType<typeof request>): unknown => fail.mock.calls[0]?.[0];

  it('fails when its answer can not be used', () => {
    const call = request();
    call.respond.mockImplementation(() => {
      throw broken;
    });
    const answer = scan(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}'));
    settleWith(call as unknown as Request, answer, 'one');
    expect(failureOf(call)).toMatchObject({
      reason: 'internal',
      outcome: 'unknown',
      cause: broken,
    });
  });

  it('fails when what goes on with it by itself breaks', async () => {
    const call = request();
    contain(call, Promise.reject(broken));
    await vi.waitFor(() => expect(failureOf(call)).toBeInstanceOf(GatewayError));
    expect(failureOf(call)).toMatchObject({ reason: 'internal', cause: broken });
  });
});
