/**
 * Proves the scripted server, which plays the servers behind the gateway in all black-box tests: driven
 * over its own stdio with no gateway between, so that a failing test elsewhere is not its fault.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive, waitGone } from '../support/processes.ts';
import { fixtureServer, type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import { StdioClient } from '../support/stdio-client.ts';
import { answers, hasMethod, textOf } from '../support/wire-message.ts';

const open: StdioClient[] = [];

function start(server: ScriptedServer): StdioClient {
  const { command, args } = server.config;
  const client = new StdioClient({ command: String(command), args: args as string[] });
  open.push(client);
  return client;
}

/** A scripted server after the handshake. */
async function scripted(
  ...args: string[]
): Promise<{ client: StdioClient; journal: ScriptedServer['journal'] }> {
  const server = scriptedServer({ args });
  const client = start(server);
  await client.initialize();
  return { client, journal: server.journal };
}

afterEach(async () => {
  const clients = open.splice(0);
  await Promise.all(clients.map((client) => client.kill()));
  await waitGone(clients.map((client) => client.child.pid ?? 0));
});

describe('the handshake', () => {
  it('answers with the requested version and journals every line with the pid', async () => {
    const server = scriptedServer();
    const client = start(server);
    const answer = await client.initialize({ version: '2025-03-26' });
    expect(answer.result).toMatchObject({ protocolVersion: '2025-03-26' });
    const seen = await server.journal.waitFor(hasMethod('notifications/initialized'));
    expect(seen.pid).toBe(client.child.pid);
    expect(server.journal.starts).toEqual([client.child.pid]);
  });

  it('takes its version and capabilities from switches', async () => {
    const server = scriptedServer({ args: ['--version', '2024-11-05', '--caps', '{"tools":{}}'] });
    const answer = await start(server).initialize();
    expect(answer.result).toMatchObject({
      protocolVersion: '2024-11-05',
      capabilities: { tools: {} },
    });
  });

  it('is strict on request', async () => {
    const server = scriptedServer({ args: ['--strict'] });
    const client = start(server);
    expect((await client.request('tools/list', {}, 'early')).error?.code).toBe(-32600);
    await client.initialize();
    expect((await client.request('initialize', {}, 'again')).error?.code).toBe(-32600);
    client.notify('notifications/initialized');
    await server.journal.waitForEvent('violation:notifications/initialized');
    expect((await client.call('echo', { a: 1 })).result).toBeDefined();
  });

  it('changes its tools from one start to the next', async () => {
    const server = scriptedServer({ args: ['--restart-tools'] });
    const lists: string[] = [];
    for (let i = 0; i < 2; i++) {
      const client = start(server);
      await client.initialize();
      lists.push((await client.request('tools/list')).raw);
      await client.close();
    }
    expect(lists[0]).toContain('generation_1');
    expect(lists[1]).toContain('generation_2');
    expect(lists[1]).not.toContain('generation_1"');
  });

  it('asks for roots right after initialized', async () => {
    const { client, journal } = await scripted('--ask-after-init');
    const serverRequest = await client.messages.next(hasMethod('roots/list'));
    expect(serverRequest.id).toBe(0);
    client.respond(serverRequest.id, { roots: [] });
    await journal.waitForEvent('roots:{"result":{"roots":[]}}');
  });
});

describe('answers', () => {
  it('keep the raw text of arguments and of large ids', async () => {
    const { client } = await scripted();
    const args =
      '{"n":9007199254740993, "f":1.0,"z":-0,"e":1E2,"s":"\\u00e9\\"}","o":{"a":[1,{}]}}';
    client.sendText(
      `{"params":{"arguments":${args},"name":"echo"},"method":"tools/call","id":9007199254740993,"jsonrpc":"2.0"}`,
    );
    const answer = await client.messages.next((message) =>
      message.raw.includes('"id":9007199254740993'),
    );
    expect(textOf(answer)).toBe(args);
  });

  it('of `bigint` keep their digits, and its list entry its members', async () => {
    const { client } = await scripted();
    expect((await client.call('bigint')).raw).toContain(
      '"structuredContent":{"n":9007199254740993,"f":1.0,"z":-0,"e":1E2},"x-extra"',
    );
    expect((await client.request('tools/list')).raw).toContain(
      '"x-custom":{"a":1.0,"big":9007199254740993}',
    );
  });

  it('come in the order that `hold` and `release` say', async () => {
    const { client } = await scripted();
    const held = client.begin('tools/call', { name: 'hold', arguments: { key: 'k', v: 'A' } }, 'h');
    await client.call('release', { key: 'k' }, 'r');
    expect(textOf(await held.answer)).toBe('A');
    const ids = client.messages.all.map((message) => message.id);
    expect(ids.slice(-2)).toEqual(['h', 'r']);
  });

  it('of `count` come from memory', async () => {
    const { client } = await scripted();
    expect(textOf(await client.call('count'))).toBe('1');
    expect(textOf(await client.call('count'))).toBe('2');
  });

  it('of `bin` arrive exact although written bytewise', async () => {
    const { client } = await scripted();
    expect(textOf(await client.call('bin'))).toBe('é and 😀 and \u00a0\u200d\ufffd\ue000');
  });

  it('of lists come in pages', async () => {
    const { client } = await scripted('--page', '2');
    const first = await client.request('tools/list', {});
    expect(first.result?.['tools']).toHaveLength(2);
    const second = await client.request('tools/list', { cursor: first.result?.['nextCursor'] });
    expect(second.result?.['tools']).not.toEqual(first.result?.['tools']);
    expect((await client.request('tools/list', { cursor: 'x1' })).error?.code).toBe(-32602);
  });

  it('are big when asked for, with any result or error', async () => {
    const { client } = await scripted();
    expect(textOf(await client.call('big', { n: 5_000_000 }))).toHaveLength(5_000_000);
    expect((await client.call('error', { code: -5, message: 'm', data: { a: 1 } })).error).toEqual({
      code: -5,
      message: 'm',
      data: { a: 1 },
    });
    expect((await client.call('result', { result: { content: [], odd: true } })).result).toEqual({
      content: [],
      odd: true,
    });
    expect((await client.call('url_error')).error?.code).toBe(-32042);
    expect((await client.call('nope')).error?.code).toBe(-32602);
    expect((await client.request('nope')).error?.code).toBe(-32601);
  });

  it('to prompts, resources, completion, levels and ping are there', async () => {
    const { client } = await scripted();
    expect((await client.request('prompts/list')).raw).toContain('"greet"');
    const prompt = await client.request('prompts/get', {
      name: 'greet',
      arguments: { who: 'Ann' },
    });
    expect(prompt.raw).toContain('"text":"Ann"');
    expect((await client.request('resources/list')).raw).toContain('test://one');
    expect((await client.request('resources/templates/list')).raw).toContain('test://item/{id}');
    expect((await client.request('resources/read', { uri: 'test://one' })).raw).toContain(
      'text of',
    );
    expect((await client.request('resources/read', { uri: 'x://one' })).error?.code).toBe(-32002);
    for (const method of [
      'resources/subscribe',
      'resources/unsubscribe',
      'logging/setLevel',
      'ping',
    ]) {
      expect((await client.request(method, {})).result).toEqual({});
    }
    expect((await client.request('completion/complete', {})).raw).toContain('"one","two"');
  });
});

describe('notifications', () => {
  it('of progress carry the token as sent, the last after the result when asked', async () => {
    const { client } = await scripted();
    const params = { name: 'progress', arguments: { late: true }, _meta: { progressToken: '1' } };
    await client.request('tools/call', params, 'p');
    await client.messages.next((message) => message.params?.['progress'] === 4);
    const tail = client.messages.all.slice(1).map((message) => message.params?.['progress'] ?? 'r');
    expect(tail).toEqual([1, 2, 3, 'r', 4]);
    expect(client.messages.all[1]?.params?.['progressToken']).toBe('1');
    expect(textOf(await client.call('progress'))).toBe('no token');
  });

  it('of logs, changes and updates are sent', async () => {
    const { client } = await scripted();
    await client.call('log', { v: 'A-only', level: 'error' });
    const log = await client.messages.next(hasMethod('notifications/message'));
    expect(log.params).toMatchObject({ level: 'error', data: 'A-only' });
    await client.call('list_change', { add: 'new_tool' });
    await client.messages.next(hasMethod('notifications/tools/list_changed'));
    expect((await client.request('tools/list')).raw).toContain('new_tool');
    await client.call('touch', { uri: 'test://one' });
    await client.messages.next(hasMethod('notifications/resources/updated'));
  });

  it('of cancel end a slow call with no answer, unless told to ignore it', async () => {
    const { client, journal } = await scripted();
    const slow = (id: string, ignoreCancel: boolean): Promise<unknown> => {
      const params = { name: 'slow', arguments: { ms: 50, ignoreCancel } };
      const { answer } = client.begin('tools/call', params, id);
      client.notify('notifications/cancelled', { requestId: id });
      return answer;
    };
    void slow('quiet', false).catch(() => undefined);
    await slow('loud', true);
    expect(client.messages.all.some(answers('quiet'))).toBe(false);
    expect(journal.messages('notifications/cancelled')).toHaveLength(2);
  });
});

describe('server requests', () => {
  it.each([
    ['ask', 'elicitation/create'],
    ['ask_form', 'elicitation/create'],
    ['ask_url', 'elicitation/create'],
    ['sample', 'sampling/createMessage'],
    ['roots', 'roots/list'],
    ['ping', 'ping'],
  ])('%s sends %s and ends with the reply', async (tool, method) => {
    const { client } = await scripted();
    const { answer } = client.begin('tools/call', { name: tool, arguments: { v: 'Q' } });
    const serverRequest = await client.messages.next(hasMethod(method));
    expect(serverRequest.id).toBe(0);
    client.sendText('{"jsonrpc":"2.0","id":0,"result":{"x":1.0}}');
    expect(textOf(await answer)).toBe('{"v":"Q","reply":{"result":{"x":1.0}}}');
  });

  it('come in pairs from `two_asks` and may be answered in any order', async () => {
    const { client } = await scripted();
    const { answer } = client.begin('tools/call', { name: 'two_asks', arguments: {} });
    const first = await client.messages.next(hasMethod('elicitation/create'));
    const second = await client.messages.next(hasMethod('elicitation/create'));
    client.respond(second.id, { n: 2 });
    client.respond(first.id, { n: 1 });
    expect(textOf(await answer)).toContain('[{"result":{"n":1}},{"result":{"n":2}}]');
  });

  it('can be asked after the answer, or taken back', async () => {
    const { client, journal } = await scripted();
    await client.call('ask_later');
    const serverRequest = await client.messages.next(hasMethod('elicitation/create'));
    client.send({ jsonrpc: '2.0', id: serverRequest.id, error: { code: -1, message: 'no' } });
    await journal.waitForEvent('later:{"error":{"code":-1,"message":"no"}}');
    await client.call('ask_cancel');
    const cancel = await client.messages.next(hasMethod('notifications/cancelled'));
    expect(cancel.params?.['requestId']).toBe(1);
  });
});

describe('faults', () => {
  it('of the process end it with a known status', async () => {
    const { client, journal } = await scripted();
    void client.begin('tools/call', { name: 'die' });
    expect(await client.exit).toBe(3);
    expect(journal.pidsOf('exit:3')).toHaveLength(1);
  });

  it('of a start can be scripted', async () => {
    expect(await start(scriptedServer({ args: ['--exit-before-init'] })).exit).toBe(6);
    const server = scriptedServer({ args: ['--fail-starts', '1'] });
    expect(await start(server).exit).toBe(6);
    expect((await start(server).initialize()).result).toBeDefined();
    const { client } = await scripted('--exit-on-unknown');
    void client.begin('server/discover');
    expect(await client.exit).toBe(5);
  });

  it('of EOF and TERM are survived on request', async () => {
    const { client, journal } = await scripted('--ignore-eof', '--ignore-term');
    client.child.stdin.end();
    await journal.waitForEvent('eof');
    client.child.kill('SIGTERM');
    await journal.waitForEvent('term');
    expect(isAlive(client.child.pid ?? 0)).toBe(true);
  });

  it('on stdout are as announced', async () => {
    const { client } = await scripted();
    await client.call('noise');
    expect(client.noise).toContain('WARN: {not json}');
    await client.call('write', { text: '{"jsonrpc":"2.0","method":"one"}{"jsonrpc":\n' });
    expect(client.noise.at(-1)).toContain('{"jsonrpc":"2.0","method":"one"}{"jsonrpc":');
    const right = client.call('bad_id', {}, 7);
    expect(textOf(await client.messages.next(answers('7')))).toBe('stringified id');
    expect(textOf(await client.messages.next(answers(999999999)))).toBe('unknown id');
    expect(textOf(await right)).toBe('right');
    const dup = await client.call('dup', {}, 'd');
    expect(textOf(dup)).toBe('first');
    expect(textOf(await client.messages.next(answers('d')))).toBe('second');
    const both = await client.call('both');
    expect([both.result, both.error]).not.toContain(undefined);
  });

  it('of a closed stdin or stdout leave the process alive', async () => {
    const { client } = await scripted();
    await client.call('close_stdout');
    expect(isAlive(client.child.pid ?? 0)).toBe(true);
    const other = (await scripted()).client;
    await other.call('close_stdin');
    expect(isAlive(other.child.pid ?? 0)).toBe(true);
  });

  it('of a grandchild leave a process that can be found', async () => {
    const { client } = await scripted();
    const pid = Number(textOf(await client.call('spawn_grandchild')));
    await client.kill();
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await waitGone([pid]);
  });
});

describe('the generic JSON-RPC servers', () => {
  it('on lines take positional and named parameters, notify and ask', async () => {
    const client = start(fixtureServer('jsonrpc-line.ts'));
    client.send({ jsonrpc: '2.0', id: 'x', method: 'add', params: [1, 2] });
    expect((await client.messages.next(answers('x'))).result).toBe(3);
    expect((await client.request('add', { a: 3, b: 4 })).result).toBe(7);
    const { answer } = client.begin('ask_client', { q: 1 });
    const serverRequest = await client.messages.next(hasMethod('question'));
    client.respond(serverRequest.id, { a: 1 });
    expect((await answer).result).toEqual({ result: { a: 1 } });
    await client.request('notify_all', { e: 1 });
    await client.messages.next(hasMethod('event'));
    await client.close();
  });
});
