// A session on one channel with ordered messages: a WebSocket, an HTTP+SSE stream, stdio. Sends everything
// for the client, and distributes what arrives (docs/protocol.md#httpsse, #websocket).

import { asGatewayError } from '../base/errors.ts';
import type { HeldOwner } from '../base/held-bytes.ts';
import type { TurnQuota } from '../base/turns.ts';
import type { WireError } from '../jsonrpc/error.ts';
import { faultError } from '../jsonrpc/faults.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { EMPTY_OBJECT } from '../jsonrpc/json-text.ts';
import { type ScanOptions, scan } from '../jsonrpc/scan.ts';
import { errorMessage, resultMessage } from '../jsonrpc/serialize.ts';
import { inOnePart, onOneLine } from '../jsonrpc/splice.ts';
import { ERRORS, wireErrorOf } from '../mcp/errors.ts';
import { CANCELLED, INITIALIZE, PING } from '../mcp/methods.ts';
import { allowsBatches } from '../mcp/versions.ts';
import type { Principal } from '../ports/principal.ts';
import type { NotificationWriter, ResponseWriter } from '../ports/response-writer.ts';
import { BatchAnswers, invalidElement, splitBatch, workOff } from './batch.ts';
import { ChannelModern } from './channel-modern.ts';
import { openSession, PLAIN_PROFILE, profileFault, profileOf } from './handshake.ts';
import type { ModernRequests } from './modern-requests.ts';
import type { ServedEndpoint } from './served-endpoint.ts';
import type { ClientProfile, Session } from './session.ts';
import { NO_ROOM, type SessionStore } from './session-store.ts';

/** The transport of a channel. */
export interface ChannelTransport {
  /** Sends one message. A client that does not read is disconnected. */
  send(message: Buffer): void;
  /** Ends the connection gracefully. */
  end(): void;
  /**
   * Pauses or resumes reading. Messages that were already read may still arrive. Absent if the transport
   * delivers each message separately.
   */
  hold?(isHeld: boolean): void;
}

export interface MessageChannelParts {
  readonly transportName: string;
  readonly transport: ChannelTransport;
  readonly served: ServedEndpoint;
  readonly principal: Principal;
  readonly sessions: SessionStore;
  readonly modern: ModernRequests;
  /** Called with the number of messages in a message of the transport. Absent if they are not counted. */
  readonly tookBatch?: (messages: number) => void;
}

/** Limits for messages that arrive while `initialize` is being answered. */
const MAX_EARLY = 100;
const MAX_EARLY_BYTES = 64 * 1024;
const NULL_ID = Buffer.from('null');

/** One client's channel. */
export class MessageChannel implements NotificationWriter, ResponseWriter {
  readonly #parts: MessageChannelParts;
  readonly #rules: ScanOptions;
  readonly #modern: ChannelModern;
  #session: Session | undefined;
  #opening: Promise<void> | undefined;
  /** Messages that arrived while the session was being opened. */
  #early: Frame[] = [];
  #earlyBytes = 0;
  #isInputClosed = false;
  #isClosed = false;

  constructor(parts: MessageChannelParts) {
    this.#parts = parts;
    this.#rules = { anyParams: parts.served.endpoint.protocol === 'jsonrpc' };
    this.#modern = new ChannelModern({ ...parts, all: parts.modern }, this);
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Sends a message to the client: a response, a server request, a notification. */
  send(message: Buffer, _kind?: string): void {
    if (!this.#isClosed) this.#parts.transport.send(onOneLine(message));
  }

  push(...message: readonly Buffer[]): boolean {
    this.send(inOnePart(message));
    return !this.#isClosed;
  }

  end(message: Buffer): void {
    this.send(message);
  }

  abandon(): void {
    // There is no separate response to close.
  }

  prune(): void {
    // No messages are kept.
  }

  /** The channel is closed. This ends the session and its calls. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#early = [];
    this.#modern.close();
    if (this.#session !== undefined) this.#parts.sessions.end(this.#session);
    this.#parts.transport.end();
  }

  /**
   * The number of requests without an answer. Listen streams don't count, because they never end by
   * themselves.
   */
  get pending(): number {
    const early = this.#early.filter(({ kind }) => kind === 'request').length;
    const opening = this.#opening === undefined ? 0 : 1;
    return opening + early + (this.#session?.pending ?? 0) + this.#parts.modern.pending;
  }

  /** The client will send nothing more, so its server requests must be answered for it. */
  closeInput(): void {
    this.#isInputClosed = true;
    this.#session?.closeInput();
  }

  /**
   * Continues with other credentials of the same principal.
   * @returns false if that is not allowed
   */
  continueAs(principal: Principal): boolean {
    return this.#modern.continueAs(principal) && this.#session?.continueAs(principal) !== false;
  }

  /** Opens the session of a plain JSON-RPC server, which has no handshake. */
  async openPlain(): Promise<void> {
    await this.#open(PLAIN_PROFILE, undefined);
  }

  /**
   * Takes one message of the client.
   * @param quota what the client may cost in a turn; absent if there is only one client
   * @param late called when it is done, if that took more than one turn
   * @returns whether it is done; only a batch may take longer
   */
  receive(bytes: Buffer, quota?: TurnQuota, late?: () => void): boolean {
    const frame = scan(bytes, this.#rules);
    try {
      if (this.#takeModern(frame)) return true;
      if (this.#opening === undefined) return this.#take(frame, quota, late);
      this.#keepEarly(frame);
    } catch (error) {
      // Requests report their own failures, so this was a message without an answer.
      this.#parts.served.meter.failed(asGatewayError(error));
    }
    return true;
  }

  /** @returns whether the message needs no session, or belongs to a request without one */
  #takeModern(frame: Frame): boolean {
    if (this.#parts.served.endpoint.protocol === 'jsonrpc' || frame.fault !== undefined)
      return false;
    const isModern = frame.claimStart >= 0;
    if (frame.kind === 'request' && isModern) this.#modern.take(frame);
    else if (frame.method !== CANCELLED || !this.#modern.cancel(frame)) return isModern;
    return true;
  }

  #keepEarly(frame: Frame): void {
    const isPing = frame.kind === 'request' && frame.method === PING;
    if (isPing && this.#parts.served.endpoint.protocol === 'mcp') this.#pong(frame);
    else if (this.#hasRoomForEarly(frame)) this.#early.push(frame);
    else this.#refuse(frame, ERRORS.tooManyEarly);
  }

  #hasRoomForEarly({ bytes }: Frame): boolean {
    if (this.#early.length >= MAX_EARLY) return false;
    if (this.#earlyBytes + bytes.length > MAX_EARLY_BYTES) return false;
    this.#earlyBytes += bytes.length;
    return true;
  }

  #take(frame: Frame, quota?: TurnQuota, late?: () => void): boolean {
    if (frame.fault === 'array') return this.#takeBatch(frame, quota, late);
    if (frame.fault !== undefined) this.#refuse(frame, faultError(frame));
    else if (this.#session === undefined) this.#takeFirst(frame);
    else this.#deliver(this.#session, frame, this);
    return true;
  }

  #takeFirst(frame: Frame): void {
    if (frame.kind !== 'request') return;
    if (frame.method === PING) this.#pong(frame);
    else if (frame.method !== INITIALIZE) {
      this.#refuse(frame, ERRORS.initializeFirst);
    } else {
      const fault = profileFault(frame);
      if (fault === undefined) void this.#open(profileOf(frame), frame);
      else this.#refuse(frame, fault);
    }
  }

  #deliver(session: Session, frame: Frame, writer: ResponseWriter): void {
    if (frame.kind === 'request') session.request(frame, writer);
    else if (frame.kind === 'notification') session.notification(frame);
    else session.response(frame);
  }

  #takeBatch(batch: Frame, quota?: TurnQuota, late?: () => void): boolean {
    const session = this.#session;
    const isAllowed = session !== undefined && allowsBatches(session.version);
    const messages = isAllowed ? (splitBatch(batch, this.#rules) ?? []) : [];
    if (session === undefined || messages.length === 0) {
      this.#refuse(batch, ERRORS.batch);
      return true;
    }
    this.#parts.tookBatch?.(messages.length);
    const answered = messages.filter(({ kind }) => kind === 'request' || kind === 'invalid').length;
    const owner = (): HeldOwner => this.#parts.served.meter.heldFor(this.#parts.principal);
    const answers = new BatchAnswers(
      {
        push: (...message) => this.push(...message),
        endAll: (all) => this.send(joined(all)),
        abandon: () => undefined,
      },
      answered,
      owner,
    );
    const { transport, served } = this.#parts;
    const isDone = workOff(messages, {
      quota,
      owner,
      failed: (error) => served.meter.failed(error),
      take: (frame) => {
        if (frame.kind === 'invalid') answers.writer().end(invalidElement());
        else if (frame.kind !== 'request') this.#deliver(session, frame, this);
        else session.request(frame, answers.writer(frame.idBytes));
      },
      late: () => {
        transport.hold?.(false);
        late?.();
      },
    });
    // The next message may cancel something in the batch.
    if (!isDone) transport.hold?.(true);
    return isDone;
  }

  async #open(profile: ClientProfile, initialize: Frame | undefined): Promise<void> {
    const { transport } = this.#parts;
    this.#opening = this.#openSession(profile, initialize);
    transport.hold?.(true);
    await this.#opening;
    this.#opening = undefined;
    const early = this.#early;
    this.#early = [];
    this.#earlyBytes = 0;
    for (const frame of early) this.#take(frame);
    transport.hold?.(false);
  }

  async #openSession(profile: ClientProfile, initialize: Frame | undefined): Promise<void> {
    const { served, principal, sessions, transportName } = this.#parts;
    const id = initialize?.idBytes;
    try {
      const opened = await openSession(
        profile,
        {
          transport: transportName,
          served,
          principal,
          notificationWriter: this,
          hasStreamPerRequest: false,
        },
        sessions,
      );
      if ('refusal' in opened) throw NO_ROOM[opened.refusal]();
      if (this.#isClosed) {
        sessions.end(opened.session);
        return;
      }
      this.#session = opened.session;
      if (this.#isInputClosed) opened.session.closeInput();
      if (id !== undefined) this.send(resultMessage(id, opened.result));
    } catch (error) {
      const failure = asGatewayError(error);
      this.#parts.served.meter.failed(failure);
      this.send(errorMessage(id, wireErrorOf(failure)));
      // Without a handshake nothing would open the session later, so the client must reconnect.
      if (initialize === undefined) this.close();
    }
  }

  #pong(frame: Frame): void {
    this.send(resultMessage(frame.idBytes ?? NULL_ID, EMPTY_OBJECT));
  }

  #refuse(frame: Frame, error: WireError): void {
    // Notifications and responses are never answered, even if they are invalid. A message that can't be
    // parsed is.
    this.send(errorMessage(frame.idBytes, error));
  }
}

function joined(messages: readonly Buffer[]): Buffer {
  return Buffer.from(`[${messages.map((message) => message.toString('utf8')).join(',')}]`);
}
