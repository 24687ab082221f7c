// How long texts of a message may be, how many members it may have, and which characters a method: found
// out before anything is done with them, and said with the limit.
import { describe, expect, it } from 'vitest';
import { MAX_MEMBERS, TEXT_LIMITS } from '../../../src/base/text-limits.ts';
import { faultError } from '../../../src/jsonrpc/faults.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';

function message(members: object): Buffer {
  return Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'resources/read', ...members }),
  );
}

/** A text that takes so many bytes in a message, quotes included. */
function text(bytes: number): string {
  return 'a'.repeat(bytes - 2);
}

describe('a text of a message', () => {
  it.each<[string, number, (value: string) => object]>([
    ['long-method', TEXT_LIMITS.method, (method) => ({ method })],
    ['long-id', TEXT_LIMITS.id, (id) => ({ id })],
    ['long-id', TEXT_LIMITS.id, (requestId) => ({ params: { requestId } })],
    ['long-token', TEXT_LIMITS.progressToken, (progressToken) => ({ params: { progressToken } })],
    [
      'long-token',
      TEXT_LIMITS.progressToken,
      (progressToken) => ({ params: { _meta: { progressToken } } }),
    ],
    ['long-name', TEXT_LIMITS.name, (name) => ({ params: { name } })],
    ['long-uri', TEXT_LIMITS.uri, (uri) => ({ params: { uri } })],
  ])('is a fault (%s) beyond %d bytes', (fault, limit, members) => {
    expect(scan(message(members(text(limit)))).fault).toBeUndefined();
    const frame = scan(message(members(text(limit + 1))));
    expect(frame).toMatchObject({ kind: 'invalid', fault });
    expect(faultError(frame)).toEqual({
      code: -32600,
      message: expect.stringContaining(`must have at most ${limit} bytes`),
    });
  });

  it('is not repeated when it is an id that is too long, and otherwise the id is', () => {
    expect(scan(message({ id: text(TEXT_LIMITS.id + 1) })).idBytes).toBeUndefined();
    const digits = Buffer.from(`{"jsonrpc":"2.0","method":"m","id":${'1'.repeat(5_000)}}`);
    expect(scan(digits)).toMatchObject({ fault: 'long-id', hasId: false });
    expect(scan(message({ params: { uri: text(20_000) } })).idBytes?.toString()).toBe('7');
  });

  it('may be of any length where it is only carried', () => {
    const params = { name: 'a', arguments: { name: text(100_000), uri: text(100_000) } };
    expect(scan(message({ method: 'tools/call', params })).fault).toBeUndefined();
    expect(scan(message({ params: { other: text(100_000) } })).fault).toBeUndefined();
    const plain = message({ params: { uri: text(100_000), name: text(100_000) } });
    expect(scan(plain, { anyParams: true }).fault).toBeUndefined();
  });
});

describe('the members of a message', () => {
  const many = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 0]));

  it.each<[string, (members: object) => object]>([
    ['params', (members) => ({ params: members })],
    ['_meta', (members) => ({ params: { _meta: members } })],
    ['the message', (members) => members],
  ])('are a fault when %s has more than anybody sends', (_where, place) => {
    expect(scan(message(place(many(MAX_MEMBERS - 3)))).fault).toBeUndefined();
    const frame = scan(message(place(many(MAX_MEMBERS + 1))));
    expect(frame).toMatchObject({ kind: 'invalid', fault: 'members' });
    expect(faultError(frame).message).toContain(`${MAX_MEMBERS} members`);
  });

  it('may be any number in arguments, in results, and in params of plain JSON-RPC', () => {
    const members = many(10 * MAX_MEMBERS);
    const call = { method: 'tools/call', params: { name: 'a', arguments: members } };
    expect(scan(message(call)).fault).toBeUndefined();
    expect(scan(message({ method: undefined, result: members })).kind).toBe('response');
    expect(scan(message({ params: members }), { anyParams: true }).kind).toBe('request');
  });

  it('are found broken behind the last one that is looked at', () => {
    const broken = `${JSON.stringify({ jsonrpc: '2.0', ...many(2_000) }).slice(0, -1)},"x":}`;
    expect(scan(Buffer.from(broken)).fault).toBe('json');
  });
});

describe('a method', () => {
  it.each([
    'tools/call\r\nX-Evil: 1',
    'tools/call\n',
    '\ttools/call',
    'tools/call\0',
    'tools/call\u007f',
    'tools/call\u0085',
    'tools/call\u2028',
    'tools call',
    ' tools/call',
    'wérkzeug',
  ])('is a fault of its sender with characters that no method has: %j', (method) => {
    const frame = scan(message({ method }));
    expect(frame).toMatchObject({ kind: 'invalid', fault: 'characters' });
    expect(frame.idBytes?.toString()).toBe('7');
    expect(faultError(frame).code).toBe(-32600);
  });

  it('may be written with escapes', () => {
    const escaped = '{"jsonrpc":"2.0","id":1,"method":"tools\\/\\u0063all"}';
    expect(scan(Buffer.from(escaped))).toMatchObject({ kind: 'request', method: 'tools/call' });
  });

  it('of plain JSON-RPC has no control characters, and may have all others', () => {
    const plain = { anyParams: true };
    expect(scan(message({ method: 'wérk zeug' }), plain).kind).toBe('request');
    for (const method of ['a\nb', 'a\u0085b', 'a\u007fb']) {
      expect(scan(message({ method }), plain).fault).toBe('characters');
    }
  });
});
