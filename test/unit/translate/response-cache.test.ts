import { describe, expect, it } from 'vitest';
import { parseText } from '../../../src/jsonrpc/parse.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { callMessage, jsonBytes } from '../../../src/jsonrpc/serialize.ts';
import type { Lease, ListKind } from '../../../src/ports/lease.ts';
import type { Request } from '../../../src/ports/request.ts';
import { ResponseCache } from '../../../src/translate/response-cache.ts';

const READ = 'resources/read';

/** A server whose lists and contents change when a test says so. */
class Server {
  readonly #keys = new Map<ListKind, object>();

  listKey(kind: ListKind): object {
    const key = this.#keys.get(kind) ?? {};
    this.#keys.set(kind, key);
    return key;
  }

  changes(kind: ListKind): void {
    this.#keys.delete(kind);
  }
}

function asked(method: string, params: object, by = 'ann', severity?: number): Request {
  const frame = scan(callMessage(method, { ...params, _meta: { asker: by } }, 1));
  const logThreshold = severity ?? Number.POSITIVE_INFINITY;
  const part = { frame, client: { principal: { key: by }, logThreshold } };
  return part as unknown as Request;
}

function result(ttlMs: number, cacheScope: string, more: object = {}): Buffer {
  return jsonBytes({ resultType: 'complete', ttlMs, cacheScope, contents: [], ...more });
}

function setUp(): { cache: ResponseCache; server: Server; lease: Lease } {
  const server = new Server();
  return { cache: new ResponseCache(), server, lease: server as unknown as Lease };
}

describe('results of modern servers that may be kept', () => {
  it('are given again with the time that is left, whatever else stands in _meta', () => {
    const { cache, lease } = setUp();
    cache.keep(lease, asked(READ, { uri: 'a:1' }), result(60_000, 'private'));
    const again = cache.find(lease, asked(READ, { uri: 'a:1' })) ?? Buffer.from('{}');
    const { ttlMs, ...rest } = parseText(again.toString('utf8')) as Record<string, unknown>;
    expect(rest).toEqual({ resultType: 'complete', cacheScope: 'private', contents: [] });
    expect(ttlMs).toBeGreaterThan(50_000);
    expect(ttlMs).toBeLessThanOrEqual(60_000);
  });

  it('are of another resource for another URI', () => {
    const { cache, lease } = setUp();
    cache.keep(lease, asked(READ, { uri: 'a:1' }), result(60_000, 'public'));
    expect(cache.find(lease, asked(READ, { uri: 'a:2' }))).toBeUndefined();
  });

  it('reach nobody else when they are private, and everybody when they are public', () => {
    const { cache, lease } = setUp();
    cache.keep(lease, asked(READ, { uri: 'a:1' }, 'ann'), result(60_000, 'private'));
    cache.keep(lease, asked(READ, { uri: 'a:2' }, 'ann'), result(60_000, 'public'));
    expect(cache.find(lease, asked(READ, { uri: 'a:1' }, 'bob'))).toBeUndefined();
    expect(cache.find(lease, asked(READ, { uri: 'a:2' }, 'bob'))).toBeDefined();
  });

  it.each([
    ['a list of tools', 'tools/list', 'tools'],
    ['a list of resources', 'resources/list', 'resources'],
    ['a resource', READ, 'contents'],
  ] as const)('end with the change of %s', (_, method, kind) => {
    const { cache, server, lease } = setUp();
    cache.keep(lease, asked(method, {}), result(60_000, 'public'));
    expect(cache.find(lease, asked(method, {}))).toBeDefined();
    server.changes(kind);
    expect(cache.find(lease, asked(method, {}))).toBeUndefined();
  });

  it.each([
    ['that say no time', result(0, 'public')],
    ['that ask for input', result(60_000, 'public', { resultType: 'input_required' })],
    ['that are large', result(60_000, 'public', { text: 'x'.repeat(1024 * 1024) })],
  ])('are not those %s', (_, text) => {
    const { cache, lease } = setUp();
    cache.keep(lease, asked(READ, { uri: 'a:1' }), text);
    expect(cache.find(lease, asked(READ, { uri: 'a:1' }))).toBeUndefined();
  });

  it('are not those of calls, of retries, nor for clients that want logs', () => {
    const { cache, lease } = setUp();
    cache.keep(lease, asked('tools/call', { name: 'a' }), result(60_000, 'public'));
    cache.keep(lease, asked(READ, { uri: 'a:1', requestState: 's' }), result(60_000, 'public'));
    expect(cache.find(lease, asked('tools/call', { name: 'a' }))).toBeUndefined();
    expect(cache.find(lease, asked(READ, { uri: 'a:1' }))).toBeUndefined();
    cache.keep(lease, asked(READ, { uri: 'a:1' }), result(60_000, 'public'));
    expect(cache.find(lease, asked(READ, { uri: 'a:1' }, 'ann', 3))).toBeUndefined();
  });

  it('make room for newer ones', () => {
    const { cache, lease } = setUp();
    const text = 'x'.repeat(1_000_000);
    for (let i = 0; i < 100; i++) {
      cache.keep(lease, asked(READ, { uri: `a:${i}` }), result(60_000, 'public', { text }));
    }
    const kept = Array.from({ length: 100 }, (_, i) =>
      cache.find(lease, asked(READ, { uri: `a:${i}` })),
    );
    expect(kept.filter((one) => one !== undefined).length).toBe(33);
    expect(kept[99]).toBeDefined();
  });
});
