// Who may go on with a session that is not open, and what it costs.
import { describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { NO_METRICS } from '../../../src/observe/no-metrics.ts';
import type { Endpoint, UpstreamSession } from '../../../src/ports/dispatcher.ts';
import type { Principal } from '../../../src/ports/principal.ts';
import type { Request } from '../../../src/ports/request.ts';
import { openSession, UNKNOWN_CLIENT } from '../../../src/session/handshake.ts';
import { ServedEndpoint } from '../../../src/session/served-endpoint.ts';
import { Session } from '../../../src/session/session.ts';
import { SessionIds } from '../../../src/session/session-ids.ts';
import { SessionStore } from '../../../src/session/session-store.ts';
import { takeUp } from '../../../src/session/take-up.ts';
import { until } from '../../support/until.ts';

const KEYS = ['a text of 32 characters or more, really'];
const LIMITS = { idle: 60_000, maxAge: 3_600_000, max: 3, maxPerPrincipal: 2, maxInFlight: 64 };
const PROFILE = {
  version: '2025-06-18',
  capabilities: { sampling: {} },
  info: { name: 'c', version: '1' },
  heldBytes: 10,
};
const served = (endpoint: Endpoint): ServedEndpoint => new ServedEndpoint(endpoint, NO_METRICS);

/** An endpoint that notes what it is asked. */
class FakeEndpoint implements Endpoint {
  readonly name: string;
  readonly server = 'one';
  readonly protocol = 'mcp';
  readonly isShared: boolean;
  readonly got: string[] = [];
  opens = 0;
  closes = 0;
  failure: Error | undefined;
  #go = Promise.withResolvers<void>();

  constructor({ name = '/one', isShared = false } = {}) {
    this.name = name;
    this.isShared = isShared;
  }

  /** From now on its servers can be had. */
  start(): void {
    this.#go.resolve();
  }

  credentialFingerprint({ claims }: Principal): string {
    return String(claims?.['tenant'] ?? '');
  }

  async open(): Promise<UpstreamSession> {
    this.opens++;
    await this.#go.promise;
    if (this.failure !== undefined) throw this.failure;
    const capabilities = { tools: { listChanged: true }, prompts: {} };
    return {
      endpointInfo: { result: { capabilities } },
      dispatch: (request: Request) => {
        this.got.push(String(request.frame.idBytes));
        request.settle(Buffer.from('{}'));
      },
      notify: ({ method }: Frame) => void this.got.push(method),
      close: () => void this.closes++,
    };
  }

  takeOver(): Promise<UpstreamSession> {
    return this.open();
  }

  serve(): void {
    throw new Error('not here');
  }
}

function writer() {
  const sent: string[] = [];
  return {
    isOpen: false,
    sent,
    send: (message: Buffer) => void sent.push(message.toString()),
    prune: () => undefined,
    close: () => undefined,
  };
}

function store(keys = KEYS, limits: Partial<typeof LIMITS> = {}): SessionStore {
  const made = new SessionStore(
    { ...LIMITS, ...limits },
    undefined,
    undefined,
    new SessionIds(keys),
  );
  made.close(); // Its timer; all else works.
  return made;
}

const ANN: Principal = { key: 'ann', kind: 'key' };

/** The id of a session that another process opened. */
async function opened(principal = ANN, endpoint = new FakeEndpoint()): Promise<string> {
  endpoint.start();
  const outcome = await openSession(
    PROFILE,
    {
      transport: 'streamable-http',
      served: served(endpoint),
      principal,
      notificationWriter: writer(),
      hasStreamPerRequest: true,
      hasId: true,
    },
    store(),
  );
  if ('refusal' in outcome) throw new Error(outcome.refusal);
  return outcome.session.id;
}

function comeBack(
  id: string,
  at: SessionStore,
  { principal = ANN, endpoint = new FakeEndpoint(), out = writer() } = {},
): ReturnType<typeof takeUp> {
  return takeUp(id, { served: served(endpoint), principal }, at, () => out);
}

/** Sends a request; resolves with the answer. */
function ask(session: Session, id: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  session.request(scan(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`)), {
    push: () => true,
    end: (message) => resolve(JSON.parse(message.toString())),
    abandon: () => resolve('cancelled'),
  });
  return promise;
}

function taken(outcome: ReturnType<typeof takeUp>): Session {
  if (outcome instanceof Session) return outcome;
  throw new Error(`not taken up: ${outcome}`);
}

describe('a session of another process', () => {
  it('goes on with what its client said, but for who it is', async () => {
    const session = taken(comeBack(await opened(), store()));
    const { version, capabilities, info, principal } = session;
    expect({ version, capabilities, info, principal }).toEqual({
      version: PROFILE.version,
      capabilities: PROFILE.capabilities,
      info: UNKNOWN_CLIENT,
      principal: ANN,
    });
  });

  it('does not for other credentials, principals or endpoints', async () => {
    const tenant = (one: string): Principal => ({ ...ANN, claims: { tenant: one } });
    const id = await opened(tenant('a'));
    const at = store();
    expect(comeBack(id, at, { principal: tenant('b') })).toBeUndefined();
    expect(comeBack(id, at, { principal: ANN })).toBeUndefined();
    expect(comeBack(id, at, { principal: { ...tenant('a'), key: 'bob' } })).toBeUndefined();
    const endpoint = new FakeEndpoint({ name: '/two' });
    expect(comeBack(id, at, { principal: tenant('a'), endpoint })).toBeUndefined();
    expect(endpoint.opens).toBe(0);
    expect(at.size).toBe(0);
    taken(comeBack(id, at, { principal: tenant('a') }));
  });

  it('does not when it is too old, whatever the clock did since', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const id = await opened();
    const start = Date.now();
    vi.setSystemTime(start + LIMITS.maxAge);
    expect(comeBack(id, store())).toBeUndefined();
    vi.setSystemTime(start + LIMITS.maxAge - 1);
    const old = taken(comeBack(id, store()));
    expect(performance.now() - old.openedMs).toBeGreaterThan(LIMITS.maxAge - 10);
    vi.setSystemTime(start - 1_000_000);
    const young = taken(comeBack(id, store()));
    expect(performance.now() - young.openedMs).toBeLessThan(10_000);
    vi.useRealTimers();
  });

  it('does not with a key that this process does not have', async () => {
    expect(comeBack(await opened(), store([`another: ${KEYS[0]}`]))).toBeUndefined();
    expect(comeBack(await opened(), store([]))).toBeUndefined();
    taken(comeBack(await opened(), store([`another: ${KEYS[0]}`, ...KEYS])));
  });

  it('is there once, however often it is asked for', async () => {
    const id = await opened();
    const at = store();
    const endpoint = new FakeEndpoint();
    const session = taken(comeBack(id, at, { endpoint }));
    // It is open now: the table is who says for whom.
    expect(comeBack(id, at, { endpoint })).toBeUndefined();
    expect(at.find(id, '/one', ANN)).toBe(session);
    expect(at.size).toBe(1);
  });

  it('needs a place as any other', async () => {
    const at = store();
    const [one, two, three] = [await opened(), await opened(), await opened()];
    const first = taken(comeBack(one, at));
    const second = taken(comeBack(two, at));
    // The one that was unused for longest gives way.
    const third = taken(comeBack(three, at));
    expect([first.isClosed, second.isClosed, third.isClosed]).toEqual([true, false, false]);
    expect(comeBack(one, at)).toBeUndefined();
    const stopping = store();
    stopping.drain.begin();
    expect(comeBack(one, stopping)).toBe('draining');
    expect(stopping.size).toBe(0);
  });

  it('stays ended when it was ended, and one that was never open here can be', async () => {
    const at = store();
    const id = await opened();
    at.end(taken(comeBack(id, at)));
    expect(comeBack(id, at)).toBeUndefined();
    const other = await opened();
    const claims = at.claimsOf(other);
    if (claims === undefined) throw new Error('it is good');
    at.endUnopened(other, claims);
    expect(comeBack(other, at)).toBeUndefined();
    const stopped = await opened();
    at.end(taken(comeBack(stopped, at)), 'stopping');
    taken(comeBack(stopped, at));
  });
});

describe('the servers of a session that was taken up', () => {
  it('are asked for with its first request when they are its own, which waits for them', async () => {
    const endpoint = new FakeEndpoint();
    const out = writer();
    const session = taken(comeBack(await opened(), store(), { endpoint, out }));
    session.notification(scan(Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}')));
    expect(endpoint.opens).toBe(0);
    const answers = [ask(session, 1), ask(session, 2)];
    endpoint.start();
    expect(await Promise.all(answers)).toEqual([
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 2, result: {} },
    ]);
    expect(await ask(session, 3)).toHaveProperty('result');
    expect([endpoint.opens, endpoint.got]).toEqual([1, ['1', '2', '3']]);
    // Of the lists that say when they change.
    expect(out.sent.map((text) => JSON.parse(text))).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
    ]);
  });

  it('are asked for at once when everybody shares them', async () => {
    const endpoint = new FakeEndpoint({ isShared: true });
    endpoint.start();
    const out = writer();
    const session = taken(comeBack(await opened(), store(), { endpoint, out }));
    expect(endpoint.opens).toBe(1);
    await until(() => out.sent.length === 1);
    session.notification(scan(Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}')));
    expect(endpoint.got).toEqual(['notifications/x']);
  });

  it('may fail, and are asked for again with the next request', async () => {
    const endpoint = new FakeEndpoint({ isShared: true });
    endpoint.failure = new GatewayError('server_unavailable', 'Down.', { outcome: 'not_sent' });
    endpoint.start();
    const session = taken(comeBack(await opened(), store(), { endpoint }));
    expect(await ask(session, 1)).toMatchObject({
      error: { data: { reason: 'server_unavailable', outcome: 'not_sent' } },
    });
    endpoint.failure = undefined;
    expect(await ask(session, 2)).toHaveProperty('result');
  });

  it('are let go when the session ended meanwhile', async () => {
    const endpoint = new FakeEndpoint();
    const at = store();
    const session = taken(comeBack(await opened(), at, { endpoint }));
    const answer = ask(session, 1);
    at.end(session);
    expect(await answer).toBe('cancelled');
    endpoint.start();
    await until(() => endpoint.closes === 1);
    expect(endpoint.got).toEqual([]);
  });
});
