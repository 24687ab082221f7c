/**
 * Tasks of one person in the hands of another: unknown, whatever the server thinks of the ids, which are
 * guessable at these servers (docs/protocol.md#handles, #tasks; GW-134, B15).
 */
import { describe, expect, it } from 'vitest';
import { LegacySession } from '../support/legacy-session.ts';
import type { ModernClient } from '../support/modern-client.ts';
import { People } from '../support/principals.ts';
import { fixtureServer, type Journal } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const CLIENT = { ...EXTENSION, elicitation: { form: {} }, sampling: {} };
const RELATED = 'io.modelcontextprotocol/related-task';

const people = new People();
const legacy = fixtureServer('scripted-tasks.ts');
const modern = fixtureServer('scripted-modern-tasks.ts');
const own = fixtureServer('scripted-tasks.ts', { config: { sharing: 'principal' } });
const harness = useGateway(() => ({
  servers: { legacy: legacy.config, modern: modern.config, own: own.config },
  config: people.config,
}));

const modernOf = (name: string, path: string): ModernClient =>
  people.modern(harness, name, path, CLIENT);
const legacyOf = (name: string, path: string): Promise<LegacySession> =>
  people.legacy(harness, name, path, { capabilities: CLIENT });

/** A task of a client that runs until it is cancelled. @returns its id */
async function made(by: LegacySession | ModernClient, tool: string): Promise<string> {
  const isLegacy = by instanceof LegacySession;
  const answer = await by.request('tools/call', {
    name: tool,
    arguments: {},
    ...(isLegacy ? { task: {} } : {}),
  });
  const task = isLegacy ? (answer.result?.['task'] as Json) : answer.result;
  expect(task, answer.raw).toHaveProperty('taskId');
  return String(task?.['taskId']);
}

/** What a server was asked about tasks, and which answers it got. */
const about = (journal: Journal): string[] =>
  journal
    .messages()
    .filter(({ method }) => method === undefined || /^tasks|listen|call/.test(method))
    .map(({ raw }) => raw);

const METHODS = ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'];

/** Asks for a task in every way, and expects nothing of it. */
async function tryAll(by: LegacySession | ModernClient, taskId: string): Promise<void> {
  const inputResponses = { q: { action: 'accept', content: {} } };
  const ids = [taskId, 'task-1', `${taskId.slice(0, -1)}_`, `${taskId} `];
  for (const method of METHODS) {
    for (const id of ids) {
      const headers = { 'mcp-name': encoded(id) };
      const { error, raw } = await by.request(method, { taskId: id, inputResponses }, { headers });
      expect([-32_602, -32_601, -32_600], `${method} ${raw}`).toContain(error?.code);
      expect(raw).not.toContain('working');
    }
  }
}

interface Place {
  readonly path: string;
  readonly journal: Journal;
  readonly era: 'legacy' | 'modern';
  readonly tool: string;
}

const PLACES: readonly Place[] = [
  { path: '/servers/legacy/mcp', journal: legacy.journal, era: 'legacy', tool: 'hold' },
  { path: '/servers/legacy/mcp', journal: legacy.journal, era: 'modern', tool: 'hold' },
  { path: '/servers/modern/mcp', journal: modern.journal, era: 'modern', tool: 'make' },
  { path: '/servers/own/mcp', journal: own.journal, era: 'legacy', tool: 'hold' },
  { path: '/servers/own/mcp', journal: own.journal, era: 'modern', tool: 'hold' },
  { path: '/mcp', journal: legacy.journal, era: 'legacy', tool: 'legacy__hold' },
  { path: '/mcp', journal: legacy.journal, era: 'modern', tool: 'legacy__hold' },
  { path: '/mcp', journal: modern.journal, era: 'modern', tool: 'modern__make' },
];

describe.each(PLACES)("GW-134 ann's task at $path, $era, $tool", ({ path, journal, era, tool }) => {
  const open = (name: string): Promise<LegacySession | ModernClient> =>
    era === 'legacy' ? legacyOf(name, path) : Promise.resolve(modernOf(name, path));

  it('is unknown to others, who can neither see, end, answer nor list it', async () => {
    const ann = await open('ann');
    const taskId = await made(ann, tool);
    const bobs = [modernOf('bob', path), await legacyOf('bob', path), await open('eve')];
    for (const bob of bobs) await bob.request('tools/list');
    const before = about(journal);
    for (const bob of bobs) await tryAll(bob, taskId);
    // Nothing of all this was heard of.
    expect(about(journal)).toEqual(before);
    for (const bob of bobs) {
      if (!(bob instanceof LegacySession)) continue;
      const list = await bob.request('tasks/list');
      if (list.error === undefined) expect(list.result).toEqual({ tasks: [] });
    }
    const { result, raw } = await ann.request('tasks/get', { taskId });
    expect(result, raw).toMatchObject({ taskId, status: 'working' });
    await ann.request('tasks/cancel', { taskId });
  });

  it('is told of to nobody else who listens for it', async () => {
    const ann = await open('ann');
    const taskId = await made(ann, tool);
    const bob = modernOf('bob', path);
    const stream = await bob.listen({ taskIds: [taskId, 'task-1', 'task-2'] });
    const [acknowledged] = stream.messages.all;
    const agreed = acknowledged?.params?.['notifications'] as Json;
    expect(agreed['taskIds'] ?? []).toEqual([]);
    const session = await legacyOf('bob', path);
    const pushed = session.openStream();
    await pushed.head;
    await ann.request('tasks/cancel', { taskId });
    await bob.request('tools/list');
    await session.request('tools/list');
    const isTold = hasMethod('notifications/tasks');
    const isToldOld = hasMethod('notifications/tasks/status');
    const told = [...stream.messages.all, ...pushed.messages.all];
    expect(told.filter((message) => isTold(message) || isToldOld(message))).toEqual([]);
    stream.destroy();
  });

  it('takes no message of somebody else that says it belongs to it', async () => {
    const ann = await open('ann');
    const taskId = await made(ann, tool);
    const name = tool.replace(/hold|make/, 'last');
    // Between modern peers the key has no meaning, and is carried like any other.
    const bobs = tool.endsWith('make') ? [] : [modernOf('bob', path)];
    for (const bob of [...bobs, await legacyOf('bob', path)]) {
      await bob.request('tools/list');
      const before = about(journal).length;
      for (const id of [taskId, 'task-1']) {
        const meta = { [RELATED]: { taskId: id } };
        // Either refused, or passed on with nothing that leads to the task.
        await bob.request('tools/call', { name, arguments: {}, _meta: meta }, { meta });
      }
      const heard = about(journal).slice(before);
      expect(heard.filter((line) => line.includes('related-task'))).toEqual([]);
    }
    await ann.request('tasks/cancel', { taskId });
  });
});

describe('a task whose id somebody else writes as a URI', () => {
  const watchable = fixtureServer('scripted-modern-tasks.ts', { args: ['--resources'] });
  const at = useGateway(() => ({
    servers: { one: watchable.config, other: fixtureServer('scripted.ts').config },
    config: people.config,
  }));

  it.each([
    ['/servers/one/mcp', ''],
    ['/mcp', 'one__'],
  ])('is told of to nobody who watches it, at %s', async (path, prefix) => {
    const ann = people.modern(at, 'ann', path, CLIENT);
    const taskId = await made(ann, `${prefix}make`);
    const own = await ann.listen({ taskIds: [taskId] });
    const id = textOf(await ann.call(`${prefix}last`));
    const bob = people.modern(at, 'bob', path, CLIENT);
    const session = await people.legacy(at, 'bob', path, { capabilities: CLIENT });
    const pushed = session.openStream();
    await pushed.head;
    const uris = [`task ${id}`, `one+task ${id}`, id];
    const stream = await bob.listen({ resourceSubscriptions: uris });
    for (const uri of uris) await session.request('resources/subscribe', { uri });
    await ann.call(`${prefix}finish`, { taskId: id });
    await own.messages.next(hasMethod('notifications/tasks'));
    await bob.request('tools/list');
    await session.request('tools/list');
    const told = [...stream.messages.all, ...pushed.messages.all].map(({ method }) => method);
    expect(told.filter((method) => method === 'notifications/tasks')).toEqual([]);
    // The server was asked to watch it as the URI that it is.
    const isAbout = ({ method, raw }: WireMessage): boolean =>
      method === 'subscriptions/listen' && raw.includes(`"task ${id}"`);
    const asked = watchable.journal.messages().find(isAbout);
    expect(asked?.params?.['notifications']).toMatchObject({ taskIds: [id] });
    stream.destroy();
    own.destroy();
  });
});

describe('a call that says it belongs to a task', () => {
  it.each([
    ['2025-06-18', {}],
    ['2025-11-25', { task: {} }],
  ])('of somebody else, in a session of %s, reaches no server', async (version, more) => {
    const path = '/servers/legacy/mcp';
    const bob = await people.legacy(harness, 'bob', path, { capabilities: CLIENT, version });
    const before = about(legacy.journal).length;
    const _meta = { [RELATED]: { taskId: 'task-1' } };
    const params = { name: 'quick', arguments: {}, _meta, ...more };
    expect((await bob.request('tools/call', params)).error?.code).toBe(-32602);
    expect(about(legacy.journal).slice(before)).toEqual([]);
  });
});

describe('GW-134 what a task asks', () => {
  it('is asked of its owner, and answered by nobody else', async () => {
    const path = '/servers/legacy/mcp';
    const ann = await legacyOf('ann', path);
    const bob = await legacyOf('bob', path);
    const streams = [ann.openStream(), bob.openStream()];
    await Promise.all(streams.map(({ head }) => head));
    const taskId = await made(ann, 'ask');
    // Bob has a call in flight while ann's task asks.
    const held = await made(bob, 'hold');
    const result = ann.begin('tasks/result', { taskId });
    const isServerRequest = hasMethod('elicitation/create');
    const serverRequest = await Promise.race([
      result.exchange.messages.next(isServerRequest),
      streams[0]?.messages.next(isServerRequest),
    ]);
    expect(serverRequest?.params?.['_meta']).toEqual({ [RELATED]: { taskId } });
    for (const id of [serverRequest?.id, 'q1', 1, 0]) {
      await bob.respond(id as string, { action: 'accept', content: { answer: 'of bob' } });
    }
    await bob.request('tasks/get', { taskId: held });
    expect(JSON.stringify(streams[1]?.messages.all)).not.toContain('elicitation');
    await ann.respond(serverRequest?.id, { action: 'accept', content: { answer: 'of ann' } });
    expect((await result.answer).raw).toContain('of ann');
    expect(JSON.stringify(about(legacy.journal))).not.toContain('of bob');
    await bob.request('tasks/cancel', { taskId: held });
  });
});

/** A text as a header may carry it. */
function encoded(text: string): string {
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

describe('a task at a server that its owner may not use any more', () => {
  const limited = new People([
    { who: { groups: ['ann'] }, servers: ['legacy'] },
    { servers: ['modern'] },
  ]);
  const mine = fixtureServer('scripted-tasks.ts');
  const other = fixtureServer('scripted-modern-tasks.ts');
  const gateway = useGateway(() => ({
    servers: { legacy: mine.config, modern: other.config },
    config: limited.config,
  }));

  it('B15 G08 once its owner has lost the right, it is unknown', async () => {
    const ann = await limited.legacy(gateway, 'ann', '/mcp', { capabilities: CLIENT });
    const taskId = await made(ann, 'legacy__hold');
    expect((await ann.request('tasks/get', { taskId })).result?.['taskId']).toBe(taskId);
    limited.keys.change('ann', { groups: ['people'] });
    const isClosed = async (): Promise<boolean> => {
      const client = limited.modern(gateway, 'ann', '/servers/legacy/mcp', CLIENT);
      return (await client.begin('server/discover').exchange.head).status === 404;
    };
    await until(isClosed);
    const again = await limited.legacy(gateway, 'ann', '/mcp', { capabilities: CLIENT });
    const before = about(mine.journal).length;
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const { error } = await again.request(method, { taskId });
      expect(error?.code).toBe(-32602);
      expect(error?.message).not.toContain('legacy');
    }
    expect(about(mine.journal).slice(before)).toEqual([]);
  });
});

describe('an id of before', () => {
  // Both count their tasks from 1 in each life.
  const server = fixtureServer('scripted-tasks.ts');
  const apart = useGateway(() => ({
    servers: { one: server.config },
    config: people.config,
  }));
  const PATH = '/servers/one/mcp';
  const modernBy = (name: string): ModernClient => people.modern(apart, name, PATH, CLIENT);

  it('B15 is unknown after the server started anew and gave it to somebody else', async () => {
    const bob = await people.legacy(apart, 'bob', PATH, { capabilities: CLIENT });
    const ids = [await made(bob, 'hold'), await made(modernBy('bob'), 'hold')];
    const [first = 0] = server.journal.starts;
    process.kill(first, 'SIGKILL');
    const ann = await until(async () => {
      const options = { version: '2025-06-18', capabilities: CLIENT };
      const session = await people.legacy(apart, 'ann', PATH, options);
      const secret = await session.call('must', { v: 'of ann' });
      return secret.error === undefined ? session : undefined;
    });
    // A client that knows no tasks: the gateway ran the tool as one, and its id is that of bob's.
    expect(textOf(await ann.call('must', { v: 'of ann' }))).toBe('of ann');
    const before = about(server.journal).length;
    for (const id of ids) await tryAll(bob, id);
    for (const id of ids) await tryAll(modernBy('bob'), id);
    expect(about(server.journal)).toHaveLength(before);
  });

  it('is unknown to its owner, too', async () => {
    const ann = await people.legacy(apart, 'ann', PATH, { capabilities: CLIENT });
    const restart = async (): Promise<void> => {
      process.kill(server.journal.starts.at(-1) ?? 0, 'SIGKILL');
      await until(async () => (await ann.call('plain')).error === undefined);
    };
    await restart();
    const id = await made(ann, 'hold');
    await restart();
    // The first one of the next life.
    expect(await made(ann, 'hold')).not.toBe(id);
    expect((await ann.request('tasks/get', { taskId: id })).error?.code).toBe(-32_602);
  });
});
