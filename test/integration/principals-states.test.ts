/**
 * The state of one person's interrupted call in the hands of another, and of its owner where it does
 * not belong: refused before any server hears of it (docs/protocol.md#handles, #suspended-calls;
 * GW-115, GW-138).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { type ModernClient, serverRequestsOf } from '../support/modern-client.ts';
import { CAPABLE, People } from '../support/principals.ts';
import { eventOf, type RemoteRequest, RemoteServer, sendStream } from '../support/remote-server.ts';
import { fixtureServer, type Journal, scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const people = new People();
const legacy = scriptedServer();
const twin = scriptedServer();
const modern = fixtureServer('scripted-modern.ts');
const private_ = scriptedServer({ config: { sharing: 'principal' } });
const harness = useGateway(() => ({
  servers: {
    legacy: legacy.config,
    twin: twin.config,
    modern: modern.config,
    private: private_.config,
  },
  config: {
    ...people.config,
    endpoints: {
      '/both': { servers: ['legacy', 'twin'] },
      '/again': { servers: ['legacy', 'twin'] },
    },
  },
}));

const servers = { legacy, twin, modern, private: private_ };
const by = (name: string, path: string, capabilities: Json = CAPABLE): ModernClient =>
  people.modern(harness, name, path, capabilities);
const accept = (answer: string): Json => ({ action: 'accept', content: { answer } });

/** How many calls and answers all servers have received; lists are read by the gateway itself. */
function heard(): Record<string, number> {
  const count = (journal: Journal): number =>
    journal.messages().filter(({ method }) => method === undefined || method === 'tools/call')
      .length;
  return Object.fromEntries(Object.entries(servers).map(([k, { journal }]) => [k, count(journal)]));
}

interface SuspendedState {
  readonly round: WireMessage;
  readonly params: Json;
  readonly state: string;
}

/** A call of `ask` that waits for an answer. */
async function park(client: ModernClient, name: string, v: string): Promise<SuspendedState> {
  const round = await client.call(name, { v });
  const [key = ''] = Object.keys(serverRequestsOf(round));
  const state = String(round.result?.['requestState']);
  const inputResponses = { [key]: accept('stolen') };
  return {
    round,
    state,
    params: { name, arguments: { v }, requestState: state, inputResponses },
  };
}

async function refused(client: ModernClient, params: Json, what: string): Promise<void> {
  const { status, message } = await client.whole('tools/call', params);
  expect({ status, code: message.error?.code }, what).toEqual({ status: 200, code: -32_602 });
}

/** One character of each part of a state changed. */
function tampered(state: string): string[] {
  const body = state.indexOf('.') + 1;
  const places = [0, body, body + 20, body + 40, Math.floor(state.length / 2), state.length - 2];
  const changed = places.map((at) => {
    const other = state[at] === 'A' ? 'B' : 'A';
    return state.slice(0, at) + other + state.slice(at + 1);
  });
  return [...changed, `${state}A`, state.slice(0, -1), `${state} `, `${state}=`, `${state}.x`];
}

const CASES: readonly (readonly [string, string, string])[] = [
  ['a legacy server', '/servers/legacy/mcp', 'ask'],
  ['a modern server', '/servers/modern/mcp', 'ask'],
  ['a private process', '/servers/private/mcp', 'ask'],
  ['one server of several', '/both/mcp', 'legacy__ask'],
];

describe.each(CASES)("GW-115 B15 the state of ann's call at %s", (_, path, tool) => {
  it('is nothing in the hands of somebody else, and ann can go on', async () => {
    const ann = by('ann', path);
    const { params, round } = await park(ann, tool, `foreign ${path}`);
    // The private server starts a process for bob: only what comes after that counts.
    await by('bob', path).call(tool === 'ask' ? 'echo' : 'legacy__echo');
    await by('eve', path).call(tool === 'ask' ? 'echo' : 'legacy__echo');
    const before = heard();
    for (const name of ['bob', 'eve']) {
      await refused(by(name, path), params, name);
      await refused(by(name, path, { ...CAPABLE, experimental: {} }), params, name);
      const { inputResponses: _none, ...bare } = params;
      await refused(by(name, path), bare, `${name} without answers`);
    }
    expect(heard()).toEqual(before);
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const answer = await ann.retry(tool, { v: `foreign ${path}` }, round, { [key]: accept('own') });
    expect(textOf(answer)).toContain('own');
    expect(textOf(answer)).not.toContain('stolen');
  });

  it('opens for no changed byte, no other request and no other place', async () => {
    const ann = by('ann', path);
    const { params, state, round } = await park(ann, tool, `changed ${path}`);
    await by('ann', '/servers/private/mcp').call('echo');
    const before = heard();
    for (const requestState of tampered(state)) {
      await refused(ann, { ...params, requestState }, requestState);
    }
    for (const requestState of ['', 'v1', 'v1.', `t1${state.slice(2)}`, 7, null, [], {}, [state]]) {
      await refused(ann, { ...params, requestState }, JSON.stringify(requestState));
    }
    await refused(ann, { ...params, arguments: { v: 'else' } }, 'other arguments');
    const other = tool === 'ask' ? 'count' : 'legacy__count';
    await refused(ann, { ...params, name: other }, 'another tool');
    for (const elsewhere of [
      '/servers/legacy/mcp',
      '/servers/twin/mcp',
      '/servers/modern/mcp',
      '/servers/private/mcp',
      '/both/mcp',
      '/again/mcp',
      '/mcp',
    ]) {
      if (elsewhere === path) continue;
      for (const name of ['ask', 'legacy__ask', 'twin__ask', 'modern__ask']) {
        const there = { ...params, name };
        const { message } = await by('ann', elsewhere).whole('tools/call', there);
        expect(message.error?.code, `${elsewhere} ${name}`).toBe(-32_602);
      }
    }
    expect(heard()).toEqual(before);
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const args = { v: `changed ${path}` };
    expect(textOf(await ann.retry(tool, args, round, { [key]: accept('own') }))).toContain('own');
  });
});

describe('a state that was used', () => {
  it('GW-116 is good for its first answer only, at a legacy server', async () => {
    const ann = by('ann', '/servers/legacy/mcp');
    const { params } = await park(ann, 'ask', 'used');
    expect(textOf(await ann.request('tools/call', params))).toContain('stolen');
    const before = heard();
    const [key = ''] = Object.keys(params['inputResponses'] as Json);
    await refused(ann, { ...params, inputResponses: { [key]: accept('twice') } }, 'again');
    await refused(by('bob', '/servers/legacy/mcp'), params, 'bob, afterwards');
    expect(heard()).toEqual(before);
  });

  it('GW-115 of the first round does not answer the second', async () => {
    const ann = by('ann', '/servers/legacy/mcp');
    const args = { sequential: true, v: 'rounds' };
    const first = await ann.call('two_asks', args);
    const [a = ''] = Object.keys(serverRequestsOf(first));
    const second = await ann.retry('two_asks', args, first, { [a]: accept('1') });
    const [b = ''] = Object.keys(serverRequestsOf(second));
    const before = heard();
    const old = { name: 'two_asks', arguments: args, requestState: first.result?.['requestState'] };
    await refused(ann, { ...old, inputResponses: { [b]: accept('2') } }, 'the old state');
    expect(heard()).toEqual(before);
    await ann.retry('two_asks', args, second, { [b]: accept('2') });
  });

  it('GW-138 is not the one that the server gave, which reaches it from its owner only', async () => {
    const ann = by('ann', '/servers/modern/mcp');
    const { params, state } = await park(ann, 'ask', 'own');
    // Not as it is, and not in other letters; two letters alone are in many a sealed text by chance.
    expect(state).not.toContain(' S1 ');
    expect(Buffer.from(state.slice(state.indexOf('.') + 1), 'base64url').includes(' S1 ')).toBe(
      false,
    );
    const before = heard();
    const raw = ' S1 "é" \\ ';
    await refused(by('bob', '/servers/modern/mcp'), { ...params, requestState: raw }, 'raw');
    expect(heard()).toEqual(before);
    await ann.request('tools/call', params);
    const last = modern.journal.messages('tools/call').at(-1);
    expect(last?.params?.['requestState']).toBe(raw);
  });

  it('B15 is not brought by a session, which has none', async () => {
    const bob = await people.legacy(harness, 'bob', '/servers/modern/mcp');
    const call = bob.begin('tools/call', {
      name: 'ask_rounds',
      arguments: {},
      requestState: 'one',
      inputResponses: { first: accept('skipped') },
    });
    const first = await call.exchange.messages.next(hasMethod('elicitation/create'));
    expect(first.params?.['message']).toBe('first');
    await bob.respond(first.id, accept('1'));
    const second = await call.exchange.messages.next(
      ({ method, id }) => method === 'elicitation/create' && id !== first.id,
    );
    await bob.respond(second.id, accept('2'));
    await call.answer;
    expect(JSON.stringify(modern.journal.messages())).not.toContain('skipped');
  });

  it("C01 brings no second state along, whichever of two a server's parser takes", async () => {
    const bob = by('bob', '/servers/modern/mcp');
    const { params } = await park(bob, 'ask', 'twins');
    const text = JSON.stringify(params).slice(1);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': CAPABLE,
    };
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'ask',
    };
    const before = heard();
    for (const twice of [
      '"requestState":"S1"',
      '"request\\u0053tate":"S1"',
      '"inputResponses":{"a":{"action":"decline"}}',
    ]) {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${twice},"_meta":${JSON.stringify(meta)},${text}}`;
      const { status } = await bob.post(body, headers).response();
      expect(status, twice).toBe(400);
    }
    expect(heard()).toEqual(before);
  });
});

describe('a client that does not come back', () => {
  const short = scriptedServer();
  const briefly = useGateway(() => ({
    servers: { one: short.config, modern: fixtureServer('scripted-modern.ts').config },
    config: { ...people.config, state: { ttl: '1s' } },
  }));

  it('GW-117 leaves nothing behind: its call is over at the server, the next one goes', async () => {
    const ann = people.modern(briefly, 'ann', '/servers/one/mcp');
    const { params } = await park(ann, 'ask', 'gone');
    const asked = await short.journal.waitFor(({ raw }) => raw.includes('"gone"'));
    const closed = await short.journal.waitFor(({ result }) => result?.['action'] === 'cancel');
    expect(closed.raw).not.toContain('stolen');
    const before = short.journal.messages().length;
    await refused(ann, params, 'too late');
    await refused(people.modern(briefly, 'bob', '/servers/one/mcp'), params, 'bob, too late');
    expect(short.journal.messages().filter(({ method }) => method === 'tools/call')).toHaveLength(
      1,
    );
    expect(short.journal.messages().length - before).toBeLessThanOrEqual(1);
    const again = await park(ann, 'ask', 'next');
    expect(textOf(await ann.request('tools/call', again.params))).toContain('next');
    await until(async () => {
      const samples = await fetchMetrics(briefly.gateway.adminUrl);
      return metricSum(samples, 'sluice_requests_in_flight') === 0;
    });
    expect(asked.method).toBe('tools/call');
  });

  it('GW-115 an expired state of a modern server is refused, unseen by it', async () => {
    const ann = people.modern(briefly, 'ann', '/servers/modern/mcp');
    const { params } = await park(ann, 'ask', 'expired');
    await until(async () => {
      const { message } = await ann.whole('tools/call', params);
      return message.error?.code === -32_602;
    });
  });
});

describe('suspended calls', () => {
  const open = new Map<unknown, RemoteRequest>();
  let remote: RemoteServer;
  // Server requests that come on the stream of their call are certain, so any number may be open.
  beforeAll(async () => {
    remote = await RemoteServer.start();
    remote.takeover = (request) => {
      const { method, id, result } = request.message;
      const asker = open.get(id);
      if (result !== undefined && asker !== undefined) {
        open.delete(id);
        request.response.writeHead(202).end();
        const content = [{ type: 'text', text: JSON.stringify(result) }];
        const answer = { jsonrpc: '2.0', id: asker.message.id, result: { content } };
        asker.response.end(eventOf(answer));
      } else if (method === 'tools/call') {
        const ask = { jsonrpc: '2.0', id: `q${request.message.id}`, method: 'elicitation/create' };
        open.set(ask.id, request);
        sendStream(request.response);
        const params = { message: 'Which?', requestedSchema: { type: 'object', properties: {} } };
        request.response.write(eventOf({ ...ask, params }));
      } else return false;
      return true;
    };
  });
  afterAll(() => remote.close());
  const full = useGateway(() => ({
    servers: { one: { url: remote.url, transport: 'streamable-http', limits: { inFlight: 1000 } } },
    config: people.config,
  }));

  it('are a hundred of one principal at most, and the others have theirs', async () => {
    const ann = people.modern(full, 'ann', '/servers/one/mcp');
    const bob = people.modern(full, 'bob', '/servers/one/mcp');
    const rounds = await Promise.all(
      Array.from({ length: 105 }, (_, n) => ann.call('echo', { v: `park ${n}` })),
    );
    const asked = rounds.filter(({ result }) => result?.['resultType'] === 'input_required');
    const others = rounds.filter((round) => !asked.includes(round));
    expect(asked).toHaveLength(100);
    for (const round of others) expect(textOf(round)).toContain('"cancel"');
    const own = await park(bob, 'echo', 'of bob');
    expect(textOf(await bob.request('tools/call', own.params))).toContain('stolen');
    for (const [at, round] of rounds.entries()) {
      if (!asked.includes(round)) continue;
      const [key = ''] = Object.keys(serverRequestsOf(round));
      const args = { v: `park ${at}` };
      const done = await ann.retry('echo', args, round, { [key]: accept(`answer ${at}`) });
      expect(textOf(done)).toContain(`answer ${at}`);
    }
    const again = await park(ann, 'echo', 'room again');
    await ann.request('tools/call', again.params);
  });
});
