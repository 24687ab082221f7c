// A client in the middle of an interleaving: it knows what it asked for, and checks that everything
// it is given is its own. Two kinds, for the two ways in which answers find their request: one
// channel for all (WebSocket, HTTP+SSE, stdio), or a response for each (Streamable HTTP).

import { ANONYMOUS } from '../../../src/auth/anonymous.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { ResponseWriter } from '../../../src/ports/response-writer.ts';
import { openSession, profileOf } from '../../../src/session/handshake.ts';
import { MessageChannel } from '../../../src/session/message-channel.ts';
import { ModernRequests } from '../../../src/session/modern-requests.ts';
import type { ServedEndpoint } from '../../../src/session/served-endpoint.ts';
import type { Session } from '../../../src/session/session.ts';
import type { SessionStore } from '../../../src/session/session-store.ts';
import { SessionStreams } from '../../../src/session/session-streams.ts';
import { anyOwner } from '../../support/held.ts';
import { fail, read, secretsIn, type Wire, write } from './wire.ts';

/** What all clients of an interleaving share. */
export interface Place {
  readonly served: ServedEndpoint;
  readonly sessions: SessionStore;
}

export interface ClientOptions {
  /** Secrets of this client begin with it. */
  readonly name: string;
  readonly principal: string;
  readonly transport: 'channel' | 'http';
  /** Whether its requests can be answered with a stream; else pushes take another way. */
  readonly hasStreams: boolean;
  /** The principal of each client, by name. */
  readonly principals: ReadonlyMap<string, string>;
}

interface Call {
  readonly id: string;
  readonly secret: string;
  readonly token: string | undefined;
  isOpen: boolean;
  isCancelled: boolean;
}

interface Asked {
  readonly id: string | number;
  readonly secret: string;
}

const IDS = ['0', '1', '"1"', '2', '"a"'];
const METHODS = ['tools/call', 'tools/call', 'tools/call', 'prompts/get', 'resources/list'];
const TOOLS = ['plain', 'asking'];

/** One client from `initialize` to its end. */
export abstract class ScriptedClient {
  readonly options: ClientOptions;
  readonly calls: Call[] = [];
  readonly #asked = new Map<string | number, Asked>();
  /** What it was given, by kind. */
  readonly received = { answers: 0, progress: 0, serverRequests: 0, takenBack: 0, logs: 0 };
  #serial = 0;
  #isGone = false;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  abstract get isReady(): boolean;
  abstract join(place: Place): Promise<void>;
  protected abstract send(bytes: Buffer, call: Call | undefined): void;
  protected abstract close(): void;
  /** Whether requests with equal ids can be in flight together. */
  protected abstract readonly mayRepeatIds: boolean;

  get open(): readonly Call[] {
    return this.calls.filter(({ isOpen }) => isOpen);
  }

  get openServerRequests(): number {
    return this.#asked.size;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Makes a call. */
  call(nth: number): void {
    const free = IDS.filter(
      (candidate) => this.mayRepeatIds || !this.open.some(({ id }) => id === candidate),
    );
    const id = free[nth % free.length];
    if (id === undefined || !this.isReady) return;
    const secret = `<${this.options.name}.${++this.#serial}>`;
    const token = nth % 3 === 0 ? undefined : id;
    const call: Call = { id, secret, token, isOpen: true, isCancelled: false };
    this.calls.push(call);
    const method = METHODS[nth % METHODS.length] ?? '';
    const name = TOOLS[(nth >> 2) % TOOLS.length];
    const meta = token === undefined ? '' : `,"_meta":{"progressToken":${token}}`;
    const params = `{"name":"${name}","arguments":{"secret":"${secret}"}${meta}}`;
    this.send(
      Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`),
      call,
    );
  }

  /** Cancels one of its calls, and with it those of the same id; or an id that it has not used. */
  cancel(nth: number): void {
    if (!this.isReady) return;
    const id = this.open[nth % this.open.length]?.id ?? IDS[nth % IDS.length] ?? '0';
    for (const call of this.open) {
      if (call.id !== id) continue;
      call.isOpen = false;
      call.isCancelled = true;
    }
    const params = `{"requestId":${id},"reason":"no longer needed"}`;
    this.send(
      Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`),
      undefined,
    );
  }

  /** Answers one of the server requests that it was asked. */
  reply(nth: number): void {
    const asked = [...this.#asked.values()][nth % this.#asked.size];
    if (asked === undefined) return;
    this.#asked.delete(asked.id);
    const { id, secret } = asked;
    const result = { action: 'accept', who: secret };
    const answer = nth % 4 === 0 ? { error: { code: -1, message: 'no' } } : { result };
    this.send(write({ id, ...answer }), undefined);
  }

  /** Answers what it was not asked: the ids are those that other clients have. */
  replyToOthers(nth: number): void {
    if (!this.isReady || this.#asked.has(nth % 4)) return;
    this.send(write({ id: nth % 4, result: { who: `<${this.options.name}.0>` } }), undefined);
  }

  /** Goes away without a word. */
  leave(): void {
    for (const call of this.open) {
      call.isOpen = false;
      call.isCancelled = true;
    }
    this.close();
    this.#isGone = true;
    this.#asked.clear();
  }

  /**
   * Takes a message.
   * @param call whose response it came in, where each request has one
   */
  protected receive(bytes: Buffer, call: Call | undefined): void {
    const message = read(bytes);
    if (this.#isGone) fail('a message for a client that is gone', message);
    if (message.method === undefined) this.#onAnswer(bytes, message, call);
    else if (message.method === 'notifications/progress') this.#onProgress(bytes, message, call);
    else if (message.method === 'notifications/cancelled') this.#onTakenBack(message);
    else if (message.method === 'notifications/message') this.#onLog(bytes, message);
    else if (message.id !== undefined) this.#onServerRequest(bytes, message);
    else if (message.method.endsWith('/list_changed') !== true) {
      fail('an unexpected notification', message);
    }
  }

  #onAnswer(bytes: Buffer, message: Wire, own: Call | undefined): void {
    const id = JSON.stringify(message.id);
    const call = own ?? this.open.find((one) => one.id === id);
    if (call?.id !== id) fail('an answer to no call', { message, name: this.options.name });
    if (call.isCancelled) fail('an answer to a cancelled call', message);
    if (!call.isOpen) fail('a second answer', message);
    call.isOpen = false;
    this.received.answers++;
    this.#expectSecret(bytes, call.secret, message.result !== undefined);
  }

  #onProgress(bytes: Buffer, message: Wire, own: Call | undefined): void {
    const token = JSON.stringify(message.params?.['progressToken']);
    const [secret] = secretsIn(bytes);
    const call = this.open.find((one) => one.secret === secret);
    if (call === undefined || call.token !== token || (own !== undefined && own !== call)) {
      fail('progress of no call', { message, name: this.options.name });
    }
    this.received.progress++;
  }

  #onServerRequest(bytes: Buffer, message: Wire): void {
    const [secret = ''] = secretsIn(bytes);
    const isOwn = this.calls.some((call) => call.secret === secret);
    if (!isOwn) {
      fail("somebody else's question", { message, name: this.options.name });
    }
    const { id } = message;
    if (typeof id !== 'number' || this.#asked.has(id)) fail('an id is asked twice', message);
    this.#asked.set(id, { id, secret });
    this.received.serverRequests++;
  }

  #onTakenBack(message: Wire): void {
    this.received.takenBack++;
    this.#asked.delete(message.params?.['requestId'] as number);
  }

  /** A log may go to all clients of one person (docs/configuration.md#serversname), never to another person's. */
  #onLog(bytes: Buffer, message: Wire): void {
    this.received.logs++;
    for (const secret of secretsIn(bytes)) {
      const principal = this.options.principals.get(secret.slice(1, secret.indexOf('.')));
      if (principal !== this.options.principal) {
        fail("somebody else's log", { message, name: this.options.name });
      }
    }
  }

  #expectSecret(bytes: Buffer, secret: string, isNeeded: boolean): void {
    const found = secretsIn(bytes);
    if (found.some((one) => one !== secret) || (isNeeded && found.length === 0)) {
      fail("somebody else's answer", { found, secret });
    }
  }
}

function initializeMessage(): Buffer {
  const capabilities = { elicitation: {}, sampling: {} };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'c' } };
  return write({ id: 'init', method: 'initialize', params });
}

/** A client with one channel. */
export class ChannelClient extends ScriptedClient {
  protected readonly mayRepeatIds = false;
  #channel: MessageChannel | undefined;
  #isReady = false;

  get isReady(): boolean {
    return this.#isReady && !this.isGone;
  }

  async join({ served, sessions }: Place): Promise<void> {
    this.#channel = new MessageChannel({
      transportName: 'websocket',
      transport: { send: (bytes) => this.#take(bytes), end: () => undefined },
      served,
      principal: { ...ANONYMOUS, key: this.options.principal },
      sessions,
      modern: new ModernRequests(),
    });
    this.#channel.receive(initializeMessage());
    await Promise.resolve();
  }

  #take(bytes: Buffer): void {
    if (this.#isReady) this.receive(bytes, undefined);
    else if (read(bytes).result !== undefined) this.#isReady = true;
  }

  protected send(bytes: Buffer): void {
    this.#channel?.receive(bytes);
  }

  protected close(): void {
    this.#channel?.close();
  }
}

/** A client with a response for each request, and a stream for the rest. */
export class HttpClient extends ScriptedClient {
  protected readonly mayRepeatIds = true;
  #session: Session | undefined;
  #sessions: SessionStore | undefined;

  get isReady(): boolean {
    return this.#session !== undefined && !this.isGone;
  }

  async join({ served, sessions }: Place): Promise<void> {
    const notificationWriter = new SessionStreams('2025-11-25', anyOwner());
    const principal = { ...ANONYMOUS, key: this.options.principal };
    this.#sessions = sessions;
    const origin = { served, principal, notificationWriter, transport: 'streamable-http' };
    const opened = await openSession(
      profileOf(scan(initializeMessage())),
      { ...origin, hasStreamPerRequest: true },
      sessions,
    ).catch(() => undefined);
    if (opened === undefined || 'refusal' in opened) return;
    if (this.isGone) {
      sessions.end(opened.session);
      return;
    }
    this.#session = opened.session;
    notificationWriter.openGeneral({
      write: (bytes) => this.#takeEvent(bytes),
      end: () => undefined,
    });
  }

  protected send(bytes: Buffer, call: Call | undefined): void {
    const frame = scan(bytes);
    if (frame.kind === 'request' && call !== undefined) {
      this.#session?.request(frame, this.#responseWriterFor(call));
    } else if (frame.kind === 'notification') this.#session?.notification(frame);
    else this.#session?.response(frame);
  }

  protected close(): void {
    if (this.#session !== undefined) this.#sessions?.end(this.#session);
  }

  #responseWriterFor(call: Call): ResponseWriter {
    return {
      push: (message) => {
        if (this.options.hasStreams) this.receive(message, call);
        return this.options.hasStreams;
      },
      end: (message) => this.receive(message, call),
      abandon: () => {
        if (!call.isCancelled) fail('a call was given up that nobody cancelled', call);
      },
    };
  }

  #takeEvent(bytes: Buffer): void {
    const data = /^data: (.+)$/m.exec(bytes.toString('utf8'))?.[1];
    if (data !== undefined && data.trim() !== '') this.receive(Buffer.from(data), undefined);
  }
}
