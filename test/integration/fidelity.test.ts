/**
 * Payloads travel byte for byte: numbers, escapes, unknown members, invisible characters and size, from
 * client to server and back, on every transport.
 */
import { describe, expect, it } from 'vitest';
import { scriptedServer } from '../support/scripted-server.ts';
import { useGateway, useScripted } from '../support/use-gateway.ts';
import { answers, hasMethod, textOf, type WireMessage } from '../support/wire-message.ts';

const paged = scriptedServer({ args: ['--page', '7'] });
const { harness, journal } = useScripted();

/** Sends one raw message and gives the raw answer. */
type Raw = (id: string, text: string) => Promise<WireMessage>;

async function transports(): Promise<[string, Raw][]> {
  const session = await harness.session();
  const { ws, sse } = await harness.channels();
  const http: Raw = (id, text) => session.post(text).messages.next(answers(id));
  const over =
    (client: typeof ws): Raw =>
    (id, text) => {
      client.sendText(text);
      return client.messages.next((message) => message.id === id);
    };
  return [
    ['http', http],
    ['ws', over(ws)],
    ['sse', over(sse)],
  ];
}

const toolCall = (id: string, name: string, args: string, more = ''): string =>
  `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"${name}","arguments":${args}${more}}}`;

const NUMBERS = '{"n":9007199254740993,"f":1.0,"z":-0,"e":1E2}';
const ODD_ARGUMENTS = [
  NUMBERS,
  '{"deep":{"a":[1.10,{"b":1e-7}]},"n":123456789012345678901234567890}',
  '{"b":1,"a":2,"10":3,"2":4}',
  '{"s":"\\u00e9\\/\\ud83d\\ude00\\u0000 é 😀"}',
  '{"s":"\u00a0\u200d\ufffd\ue000\u2028\u2029"}',
  '{"__proto__":{"x":1},"constructor":1,"":2}',
  '{"a" : [ 1 ,2 ] , "b":{ } }',
  '{"id":99,"method":"x","params":{"name":"y"},"jsonrpc":"1.0"}',
];

describe('arguments', () => {
  it.each(ODD_ARGUMENTS)('arrive as sent: %s (trials 55, 63)', async (args) => {
    for (const [name, raw] of await transports()) {
      const answer = await raw(name, toolCall(name, 'echo', args));
      expect(textOf(answer)).toBe(args);
    }
  });

  it('arrive whatever the order of the envelope, with unknown members beside them', async () => {
    for (const [name, raw] of await transports()) {
      const text = `{"params":{"x-odd":1.0,"arguments":${NUMBERS},"name":"echo"},"method":"tools/call","id":"${name}","jsonrpc":"2.0"}`;
      expect(textOf(await raw(name, text))).toBe(NUMBERS);
    }
  });

  it('arrive on one line although they were sent over several', async () => {
    for (const [name, raw] of await transports()) {
      const pretty = toolCall(name, 'echo', '{\n  "a": [\r\n1,\n\t2]\n}');
      expect(JSON.parse(textOf(await raw(name, pretty)))).toEqual({ a: [1, 2] });
    }
  });

  it('GW-079 reach the server as one line, whatever newlines are in and between them', async () => {
    for (const [name, raw] of await transports()) {
      const args = `{ "marker" :\n "${name}", "s": "a\\nb\\u000a" }`;
      const text = `\n{"jsonrpc":"2.0",\r\n"id":"${name}","method":"tools/call",\n"params":{"name":"echo","arguments":${args}}}\n`;
      const answer = await raw(name, text);
      expect(answer.raw).not.toContain('\n');
      expect(JSON.parse(textOf(answer))).toEqual({ marker: name, s: 'a\nb\n' });
      const seen = journal.messages('tools/call').filter((m) => m.raw.includes(`"${name}"`));
      expect(seen.length).toBeGreaterThan(0);
    }
    // A line that is no message would have been recorded as such.
    expect(journal.pidsOf('not-json')).toEqual([]);
  });

  it('of 150 KB arrive whole (trial 59)', async () => {
    for (const [name, raw] of await transports()) {
      const args = `{"s":"${'é'.repeat(75_000)}"}`;
      expect(textOf(await raw(name, toolCall(name, 'echo', args)))).toBe(args);
    }
  });

  it('and unknown members of any method, MCP or not, arrive as sent', async () => {
    for (const [name, raw] of await transports()) {
      const params = `{"n":${NUMBERS},"x-odd":[ 1.0 ]}`;
      const text = `{"jsonrpc":"2.0","x-top":1.0,"id":"${name}","method":"vendor/echo","params":${params}}`;
      expect((await raw(name, text)).raw).toContain(`"result":${params}`);
      const seen = journal.messages('vendor/echo').at(-1);
      expect(seen?.raw).toContain('"x-top":1.0');
    }
  });
});

describe('results', () => {
  it('keep their digits, unknown members, escapes and spaces (trials 62, 63)', async () => {
    for (const [name, raw] of await transports()) {
      const answer = await raw(name, toolCall(name, 'bigint', '{}'));
      expect(answer.raw).toContain(`"structuredContent":${NUMBERS}`);
      expect(answer.raw).toContain(
        '"x-extra":{"k" : [1.0,"\\u00e9"]},"_meta":{"vendor.example/x":1.50}',
      );
    }
  });

  it.each(ODD_ARGUMENTS)('arrive as sent: %s', async (value) => {
    for (const [name, raw] of await transports()) {
      const result = `{"content":[],"structuredContent":${value}}`;
      const answer = await raw(name, toolCall(name, 'result', `{"result":${result}}`));
      expect(answer.raw).toContain(`"result":${result}`);
    }
  });

  it('that are errors keep code, message and data', async () => {
    const error = '{"code":-31999,"message":"m \\u00e9","data":{"n":1.0,"big":9007199254740993}}';
    for (const [name, raw] of await transports()) {
      const answer = await raw(name, toolCall(name, 'error', error));
      expect(answer.raw).toContain(`"error":${error}`);
    }
  });

  it('of a list keep every member of an entry (trial 62)', async () => {
    for (const [name, raw] of await transports()) {
      const answer = await raw(name, `{"jsonrpc":"2.0","id":"${name}","method":"tools/list"}`);
      expect(answer.raw).toContain('"name":"bigint","title":"Big \\u00e9"');
      for (const part of [
        '"outputSchema":{',
        '"icons":[{"src"',
        '"annotations":{"readOnlyHint":true}',
      ]) {
        expect(answer.raw).toContain(part);
      }
      expect(answer.raw).toContain('"x-custom":{"a":1.0,"big":9007199254740993}');
    }
  });

  it('written one byte at a time arrive exact (trials 53, 55)', async () => {
    for (const [name, raw] of await transports()) {
      const answer = await raw(name, toolCall(name, 'bin', '{}'));
      expect(textOf(answer)).toBe('é and 😀 and \u00a0\u200d\ufffd\ue000');
    }
  });

  it('of 5 MB and of 12 MB arrive whole, and do not disturb the next call (trial 57)', async () => {
    for (const [name, raw] of await transports()) {
      for (const n of [5_000_000, 12_000_000]) {
        const id = `${name}-${n}`;
        expect(textOf(await raw(id, toolCall(id, 'big', `{"n":${n}}`)))).toHaveLength(n);
        const next = `${id}-next`;
        expect(textOf(await raw(next, toolCall(next, 'echo', '{"a":1.0}')))).toBe('{"a":1.0}');
      }
    }
  });
});

describe('notifications', () => {
  it('of progress and logs keep their bytes', async () => {
    const ws = await harness.webSocket();
    const data = `{"v":${NUMBERS},"level":"error"}`;
    ws.sendText(toolCall('l', 'log', data));
    const log = await ws.messages.next(({ method }) => method === 'notifications/message');
    expect(log.raw).toContain(`"data":${NUMBERS}`);
  });
});

describe('B02 noise on stdout', () => {
  it('is dropped; the messages in it are kept, on every transport (trial 60)', async () => {
    for (const [name, raw] of await transports()) {
      const answer = await raw(name, toolCall(name, 'noise', '{}'));
      expect(textOf(answer)).toBe('after the noise');
    }
    const ws = await harness.webSocket();
    await ws.call('noise');
    const logs = ws.messages.all.filter(hasMethod('notifications/message'));
    expect(logs.map(({ params }) => params?.['data'])).toEqual(['real']);
    const noise = harness.gateway.logs().map(({ line }) => String(line ?? ''));
    expect(noise.some((line) => line.includes('WARN: {not json}'))).toBe(true);
    expect(journal.starts).toHaveLength(1);
  });

  it('such as answers to nothing and answers twice reaches nobody', async () => {
    const ws = await harness.webSocket();
    expect(textOf(await ws.call('bad_id', {}, 'b'))).toBe('right');
    expect(textOf(await ws.call('dup', {}, 'd'))).toBe('first');
    await ws.request('ping', undefined, 'p');
    for (const id of ['b', 'd', 'p']) {
      expect(ws.messages.all.filter(answers(id))).toHaveLength(1);
    }
    expect(ws.messages.all.map(({ id }) => id)).toEqual([0, 'b', 'd', 'p']);
  });
});

describe('paging', () => {
  const other = useGateway(() => ({ servers: { one: paged.config } }));

  it('by the cursors of the server shows every tool once (trial 64)', async () => {
    const session = await other.session();
    const names: unknown[] = [];
    let params: Record<string, unknown> = {};
    for (;;) {
      const { result = {} } = await session.request('tools/list', params);
      const tools = result['tools'] as { name: string }[];
      expect(tools.length).toBeLessThanOrEqual(7);
      names.push(...tools.map(({ name }) => name));
      if (result['nextCursor'] === undefined) break;
      params = { cursor: result['nextCursor'] };
    }
    expect(names.length).toBeGreaterThan(14);
    expect(new Set(names).size).toBe(names.length);
  });

  it('forwards the cursor of the client, as it is', async () => {
    const session = await harness.session();
    expect((await session.request('tools/list', { cursor: '1' })).result?.['tools']).toBeDefined();
    const refused = await session.request('tools/list', { cursor: 'garbage' });
    expect(refused.error?.code).toBe(-32602);
  });
});
