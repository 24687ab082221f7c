// One legacy client, from `initialize` to the end of its session, on any transport: its version and
// capabilities, its calls in flight, and its server requests. Knows nothing about HTTP or servers.

import { monotonicMs } from '../base/clock.ts';
import { asGatewayError } from '../base/errors.ts';
import { TEXT_LIMITS } from '../base/text-limits.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isSameId } from '../jsonrpc/id.ts';
import { EMPTY_OBJECT } from '../jsonrpc/json-text.ts';
import { membersOf } from '../jsonrpc/members.ts';
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import { continuesWork } from '../mcp/continuation.ts';
import { ERRORS } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import {
  CANCEL_REQUEST,
  CANCELLED,
  INITIALIZE,
  INITIALIZED,
  isNotification,
  PING,
  PROGRESS,
} from '../mcp/methods.ts';
import type { Endpoint, UpstreamSession } from '../ports/dispatcher.ts';
import type { Downstream, ServerRequest } from '../ports/downstream.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import type { NotificationWriter, ResponseWriter } from '../ports/response-writer.ts';
import { ClientRequest, type RequestOwner } from './client-request.ts';
import { PendingServerRequests } from './pending-server-requests.ts';
import { recorded } from './recorded-request.ts';
import type { ServedEndpoint } from './served-endpoint.ts';
import type { SessionRecord } from './session-record.ts';

/** Grace period after the last call before a client that never opened a stream counts as gone. */
const UNHEARD_GRACE_MS = 30_000;

/** What a client said about itself. */
export interface ClientProfile {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info: unknown;
  /** The bytes that it takes. */
  readonly heldBytes: number;
}

export interface SessionParts {
  readonly id: string;
  /** The transport; a metric label. */
  readonly transport: string;
  readonly served: ServedEndpoint;
  readonly principal: Principal;
  readonly profile: ClientProfile;
  readonly notificationWriter: NotificationWriter;
  /** Whether each request has its own stream, so that equal ids can be distinguished. */
  readonly hasStreamPerRequest: boolean;
  /** Whether the server is a plain JSON-RPC server: then the gateway handles no method itself. */
  readonly isPlain: boolean;
  /** Calls that it may have in flight, as it is now. */
  readonly limits: { readonly maxInFlight: number };
  /** Record of log level and subscriptions; absent if they are not kept across restarts. */
  readonly record?: SessionRecord | undefined;
  /** When it was opened, in monotonic milliseconds; absent: now. */
  readonly openedMs?: number;
}

/** One client's session. */
export class Session implements Downstream, RequestOwner {
  readonly id: string;
  readonly transport: string;
  readonly endpoint: string;
  readonly served: ServedEndpoint;
  /** Monotonic milliseconds. */
  readonly openedMs: number;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info: unknown;
  readonly notificationWriter: NotificationWriter;
  #principal: Principal;
  readonly #hasStreamPerRequest: boolean;
  readonly #isPlain: boolean;
  readonly #limits: SessionParts['limits'];
  readonly #record: SessionRecord | undefined;
  #heldBytes: number;
  readonly #requests = new Set<ClientRequest>();
  #serverRequests: PendingServerRequests | undefined;
  #upstreamSession: UpstreamSession | undefined;
  #linkedTo: Endpoint | undefined;
  #moving: Promise<void> | undefined;
  #lastUsedMs = monotonicMs();
  #hasListened = false;
  #isInputClosed = false;
  #isClosed = false;

  constructor(parts: SessionParts) {
    this.id = parts.id;
    this.transport = parts.transport;
    this.served = parts.served;
    this.endpoint = parts.served.name;
    this.openedMs = parts.openedMs ?? monotonicMs();
    this.#principal = parts.principal;
    this.version = parts.profile.version;
    this.capabilities = parts.profile.capabilities;
    this.info = parts.profile.info;
    this.notificationWriter = parts.notificationWriter;
    this.#heldBytes = parts.profile.heldBytes;
    this.served.meter.heldFor(this.#principal).add('session', this.#heldBytes);
    this.#hasStreamPerRequest = parts.hasStreamPerRequest;
    this.#isPlain = parts.isPlain;
    this.#limits = parts.limits;
    this.#record = parts.record;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isListening(): boolean {
    return this.notificationWriter.isOpen;
  }

  get principal(): Principal {
    return this.#principal;
  }

  /**
   * Continues with other credentials of the same principal, whose rights apply from now on.
   * @returns false if it is another principal, or the servers know other credentials
   */
  continueAs(principal: Principal): boolean {
    const before = this.#principal;
    if (principal === before) return true;
    if (principal.key !== before.key) return false;
    const { endpoint } = this.served;
    if (endpoint.credentialFingerprint(principal) !== endpoint.credentialFingerprint(before)) {
      return false;
    }
    this.#principal = principal;
    return true;
  }

  /**
   * Links the session to what is behind its endpoint, before the first request.
   * @param endpoint undefined where it will be linked later
   */
  link(upstreamSession: UpstreamSession, endpoint?: Endpoint): void {
    this.#linkedTo = endpoint;
    this.#upstreamSession = upstreamSession;
    // The server may have taken long to start, and the client can only use the session now.
    this.#lastUsedMs = monotonicMs();
  }

  /** The capabilities of what is behind its endpoint. */
  get offered(): JsonObject {
    const capabilities = this.#upstreamSession?.endpointInfo.result['capabilities'];
    return isObject(capabilities) ? capabilities : {};
  }

  /** The number of requests in flight and of open server requests. */
  get pending(): number {
    return this.#requests.size + (this.#serverRequests?.size ?? 0);
  }

  /**
   * Since when nothing has happened, in monotonic milliseconds; undefined while it has a stream or a call.
   */
  get unusedSinceMs(): number | undefined {
    return this.pending > 0 || this.notificationWriter.isOpen ? undefined : this.#lastUsedMs;
  }

  /** Whether nothing has happened since `sinceMs`, and nobody reads. */
  isIdleSince(sinceMs: number): boolean {
    const unusedMs = this.unusedSinceMs;
    return unusedMs !== undefined && unusedMs < sinceMs;
  }

  /**
   * A client without streams and calls may have disconnected: most libraries send nothing when they close. A
   * client that never had a stream, like clients that only send POSTs, gets some time until its next call.
   */
  get absentSinceMs(): number | undefined {
    const unusedMs = this.unusedSinceMs;
    if (unusedMs === undefined || this.#hasListened) return unusedMs;
    return unusedMs + UNHEARD_GRACE_MS;
  }

  /** Whether the client ever opened a stream for messages that belong to no call. */
  get hasListened(): boolean {
    return this.#hasListened;
  }

  /** Notes that the client opened or closed a stream for messages that belong to no call. */
  noteStream(): void {
    this.#hasListened = true;
    this.#lastUsedMs = monotonicMs();
  }

  /** Takes a request. Its answer is written to `writer`. */
  request(frame: Frame, writer: ResponseWriter): void {
    this.#lastUsedMs = monotonicMs();
    const request = new ClientRequest(frame, {
      client: this,
      owner: this,
      writer,
      meter: this.served.meter,
    });
    const isDuplicate = !this.#hasStreamPerRequest && this.#hasInFlight(frame);
    this.#requests.add(request);
    const method = this.#isPlain ? '' : frame.method;
    if (method === PING) request.settle(EMPTY_OBJECT);
    else if (method === INITIALIZE) {
      request.settle(ERRORS.initializedAlready);
    } else if (this.#isPlain ? frame.method === CANCEL_REQUEST : isNotification(method)) {
      // The server might obey it, although the ids in it are not those of the client's calls.
      request.settle(ERRORS.notification);
    } else if (isDuplicate) {
      request.settle(ERRORS.idInFlight);
    } else if (this.served.drain.isOn && (this.#isPlain || !continuesWork(frame))) {
      request.settle(this.served.refusal);
    } else if (this.#requests.size > this.#limits.maxInFlight) {
      request.settle(FAILURES.tooManyInSession(this.#limits.maxInFlight));
    } else if (this.served.meter.isOver(quotaKeyOf(this.#principal))) {
      request.settle(FAILURES.tooManyOfPrincipal());
    } else if (!request.takeRoom()) {
      request.settle(FAILURES.tooMuchHeld());
    } else this.#dispatch(request);
  }

  #dispatch(request: ClientRequest): void {
    // The rest of a batch may be processed after the end of its session.
    if (this.#isClosed) {
      request.cancel(undefined);
      return;
    }
    const { refusal } = this.served.meter;
    if (refusal !== undefined) {
      request.settle(refusal);
      return;
    }
    try {
      const record = this.#record;
      this.#upstreamSession?.dispatch(
        record === undefined ? request : recorded(request, this, record),
      );
    } catch (error) {
      request.settle(asGatewayError(error));
    }
  }

  /** Takes a notification. */
  notification(frame: Frame): void {
    if (this.#isClosed) return;
    this.#lastUsedMs = monotonicMs();
    if (this.#isPlain) {
      this.#plainNotification(frame);
      return;
    }
    switch (frame.method) {
      case INITIALIZED:
        return;
      case CANCELLED:
        this.#cancel(frame);
        return;
      case PROGRESS:
        this.#serverRequests?.progress(frame);
        return;
      default:
        this.#upstreamSession?.notify(frame);
    }
  }

  /**
   * Takes a client's response to a server request.
   * @returns false if it has the id of no server request
   */
  response(frame: Frame): boolean {
    this.#lastUsedMs = monotonicMs();
    return this.#serverRequests?.answer(frame) ?? false;
  }

  notify(message: Buffer, kind: string | undefined): void {
    if (!this.#isClosed) this.notificationWriter.send(message, kind);
  }

  ask(serverRequest: ServerRequest, request: Request | undefined): void {
    if (this.#isPlain && this.#hasStreamPerRequest) {
      serverRequest.settle(ERRORS.clientHasNoStream);
      return;
    }
    if (this.#isInputClosed) {
      serverRequest.settle(ERRORS.clientEnding);
      return;
    }
    this.#serverRequests ??= new PendingServerRequests(this.notificationWriter);
    this.#serverRequests.ask(serverRequest, request);
  }

  withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void {
    this.#serverRequests?.withdraw(serverRequest, notice);
  }

  settled(request: ClientRequest): void {
    this.#requests.delete(request);
    this.#lastUsedMs = monotonicMs();
  }

  /**
   * Goes on at the endpoint that is served now, if that is another one: new requests go there, those in
   * flight end where they are. Resolves when that is done, or is not needed.
   * @throws GatewayError when it can't be done
   */
  async follow(): Promise<void> {
    while (!this.#isClosed && this.#isBehind) {
      this.#moving ??= this.#move().finally(() => {
        this.#moving = undefined;
      });
      await this.#moving;
    }
  }

  /** One that is linked later will be linked to what is served then. */
  get #isBehind(): boolean {
    return this.#linkedTo !== undefined && this.#linkedTo !== this.served.endpoint;
  }

  async #move(): Promise<void> {
    const { endpoint } = this.served;
    const before = this.#upstreamSession;
    if (before === undefined) return;
    const next = await endpoint.takeOver(this, before).catch(async () => {
      // There may be room for another process when the client has given up the one that it has.
      before.close();
      return await endpoint.takeOver(this, before);
    });
    if (this.#isClosed) {
      next.close();
      return;
    }
    this.#linkedTo = endpoint;
    this.#upstreamSession = next;
    before.close();
  }

  /** The client answers no more server requests, but still gets its answers. */
  closeInput(): void {
    this.#isInputClosed = true;
    this.#serverRequests?.close();
  }

  /** Ends it: cancels its calls, answers its server requests, and gives up its leases. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.giveRoomBack();
    for (const request of [...this.#requests]) request.cancel(undefined);
    this.#serverRequests?.close();
    this.#upstreamSession?.close();
    this.notificationWriter.close();
  }

  /** Its bytes are no longer held: it was closed, or never opened. */
  giveRoomBack(): void {
    this.served.meter.heldFor(this.#principal).remove('session', this.#heldBytes);
    this.#heldBytes = 0;
  }

  #hasInFlight(frame: Frame): boolean {
    const id = frame.idBytes;
    return id !== undefined && this.#findInFlight(id) !== undefined;
  }

  #findInFlight(id: Buffer): ClientRequest | undefined {
    for (const request of this.#requests) {
      const other = request.frame.idBytes;
      if (other !== undefined && isSameId(id, other)) return request;
    }
    return undefined;
  }

  // Language servers get the id of the request to cancel, and still answer it. Over POST the id is not clear,
  // because all clients of a principal share one session.
  #plainNotification(frame: Frame): void {
    if (frame.method !== CANCEL_REQUEST) {
      this.#upstreamSession?.notify(frame);
      return;
    }
    if (this.#hasStreamPerRequest) return;
    const { bytes, paramIdStart, paramIdEnd } = frame;
    const id = frame.slice(paramIdStart, paramIdEnd);
    if (id === undefined || id.length > TEXT_LIMITS.id || hasOtherIds(frame)) return;
    const serverId = this.#findInFlight(id)?.canceller?.id;
    if (serverId === undefined) return;
    const text = Buffer.from(String(serverId));
    const message = replaceSpan(bytes, paramIdStart, paramIdEnd, text);
    this.#upstreamSession?.notify(scan(message, { anyParams: true }));
  }

  /**
   * Over HTTP several requests may have the same id. A cancellation applies to all of them
   * (docs/protocol.md#choices).
   */
  #cancel(notice: Frame): void {
    const id = notice.slice(notice.requestIdStart, notice.requestIdEnd);
    if (id === undefined) return;
    for (const request of [...this.#requests]) {
      const other = request.frame.idBytes;
      if (other !== undefined && isSameId(id, other)) request.cancel(notice);
    }
  }
}

/** Whether a server may read another `id` of a cancellation than the one that was used. */
function hasOtherIds({ bytes, paramsStart, paramsEnd, paramIdStart }: Frame): boolean {
  return membersOf(bytes, paramsStart, paramsEnd).some(
    ({ key, valueStart }) => key.toLowerCase() === 'id' && valueStart !== paramIdStart,
  );
}
