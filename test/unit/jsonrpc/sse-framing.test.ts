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
  for (const event of [messageEvent(Buffer.from(text)), resumableEvent('5', Buffer.from(text))]) {
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
