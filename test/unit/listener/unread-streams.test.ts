// What waits on event streams counts as held, also where it is little on each and waits for long.
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { SseWriter } from '../../../src/listener/sse-writer.ts';

const KIB = 1024;

/** A response whose client reads nothing, and which says of a little that it can take more. */
class UnreadResponse extends EventEmitter {
  writableLength = 0;
  destroyed = false;
  readonly socket = null;
  readonly writeHead = vi.fn();
  readonly flushHeaders = vi.fn();

  write(bytes: Buffer): boolean {
    this.writableLength += bytes.length;
    return this.writableLength < 64 * KIB;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function streamOf(held: HeldBytes) {
  const response = new UnreadResponse();
  const slow = vi.fn();
  const writer = new SseWriter(
    response as unknown as ServerResponse,
    {},
    {
      held,
      principal: { key: 'ann', kind: 'key' } as never,
      slow,
      closed: () => undefined,
    },
  );
  return { response, writer, slow };
}

it('is looked at as often as streams are kept alive, and given back when it is read', () => {
  const held = new HeldBytes({ limitBytes: 1_000 * KIB, shareBytes: 1_000 * KIB });
  const streams = Array.from({ length: 10 }, () => streamOf(held));
  for (const { writer } of streams) writer.write(Buffer.alloc(20 * KIB));
  expect(held.total).toBe(0);
  for (const { writer } of streams) writer.keepAlive(0, 0);
  expect(held.byKind.unread).toBe(200 * KIB);
  for (const { response, writer } of streams) {
    response.writableLength = 0;
    writer.keepAlive(10_000, 0);
  }
  expect(held.total).toBe(0);
  for (const { response } of streams) response.destroy();
  expect(held.total).toBe(0);
});

it('costs the stream its connection when too much is held', () => {
  const held = new HeldBytes({ limitBytes: 100 * KIB, shareBytes: 100 * KIB });
  const { response, writer, slow } = streamOf(held);
  held.client({ key: 'bob', kind: 'key' }).add('call', 90 * KIB);
  writer.write(Buffer.alloc(70 * KIB));
  expect(slow).toHaveBeenCalledOnce();
  expect(response.destroyed).toBe(true);
  writer.keepAlive(0, 0);
  expect(held.byKind.unread).toBe(0);
});
