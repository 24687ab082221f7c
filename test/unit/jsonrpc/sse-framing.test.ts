// A message is one event, whatever is in it.
import { expect, it } from 'vitest';
import { messageEvent, resumableEvent } from '../../../src/jsonrpc/sse-framing.ts';
import { type SseEvent, SseParser } from '../../support/sse.ts';

const ODD = [
  '{"jsonrpc":"2.0",\n"id":1,\r\n"result":\r{}}',
  '{"jsonrpc":"2.0","id":1,"result":{"t":"a\\r\\nevent: x\\n\\ndata: y\\u2028\u2028\u0085"}}',
  '{"jsonrpc":"2.0"\r\r,"id":1,\n\nid: 7\n\n"result":{}}',
];

it.each(ODD)('C10 %j is one event', (text) => {
  const message = Buffer.from(text);
  for (const parts of [messageEvent(message), resumableEvent('5', message)]) {
    const event = Buffer.concat(parts);
    const events: SseEvent[] = [];
    new SseParser((one) => events.push(one)).push(event);
    expect(events).toHaveLength(1);
    expect(events[0]?.event).toBe('message');
    expect(events[0]?.data).toBe(text.replaceAll(/[\r\n]/g, ' '));
    expect(
      event
        .toString()
        .split(/\r\n|\r|\n/)
        .filter((line) => line !== ''),
    ).toHaveLength(event.toString().startsWith('id: ') ? 3 : 2);
  }
});

it('a large message is neither joined nor copied, a small one is one part', () => {
  const large = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(100_000)}"}`);
  expect(messageEvent(large)).toContain(large);
  expect(resumableEvent('5', large)).toContain(large);
  const small = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}');
  expect(messageEvent(small)).toHaveLength(1);
  expect(resumableEvent('5', small.subarray(0, 9), small.subarray(9))).toEqual([
    Buffer.from(`id: 5\nevent: message\ndata: ${small}\n\n`),
  ]);
});
