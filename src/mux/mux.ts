// Lets many callers use one connection to a server. It gives every request an id of the connection, matches
// answers and progress with the callers, restores their ids, checks deadlines, and cancels. It knows nothing
// about HTTP, sessions or processes.

import { after, monotonicMs } from '../base/clock.ts';
import type { GatewayError } from '../base/errors.ts';
import { batchTexts } from '../jsonrpc/batch.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId, stringifiedId } from '../jsonrpc/id.ts';
import { EMPTY_OBJECT } from '../jsonrpc/json-text.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage, resultMessage } from '../jsonrpc/serialize.ts';
import { onOneLine, withOwnId } from '../jsonrpc/splice.ts';
import { copyText } from '../jsonrpc/text-walk.ts';
import { FAILURES } from '../mcp/failures.ts';
import { CANCELLED, mayAsk, PING, PROGRESS } from '../mcp/methods.ts';
import { requiredIds } from '../mcp/url-elicitation.ts';
import type { RareLine } from '../observe/rare-line.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { RequestFailure } from '../ports/channel.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Request, TaskSubscriber, TaskSubscription } from '../ports/request.ts';
import { Call, type CallOwner, type OwnAnswer } from './call.ts';
import { CallTable } from './call-table.ts';
import { Deadlines } from './deadlines.ts';
import { DIALECTS, type Dialect } from './dialect.ts';
import {
  logDropped,
  misnamedLine,
  ownerOfInvalid,
  ownerOfOversize,
  settleWith,
} from './malformed.ts';
import type { MuxOptions, MuxParts } from './mux-contract.ts';
import { passProgress } from './progress.ts';
import { ServerRequests } from './server-requests.ts';
import { TaskSubscriptions } from './task-subscriptions.ts';

/** How long the right answer may come after one with a wrong id. */
const RIGHT_ANSWER_MS = 100;
/** The most open pings to a server that does not answer. A client could cause very many by cancelling. */
const MAX_PINGS = 64;

/** The gateway's side of one connection. */
export class Mux implements CallOwner {
  readonly #options: MuxOptions;
  readonly #parts: MuxParts;
  readonly #traffic: Traffic;
  readonly #dialect: Dialect;
  readonly #calls: CallTable;
  readonly tasks: TaskSubscriptions;
  readonly #serverRequests: ServerRequests;
  #lastId = 0;
  readonly #deadlines: Deadlines;
  readonly #misnamed: RareLine<number>;
  #isClosed = false;

  constructor(options: MuxOptions, parts: MuxParts) {
    this.#options = options;
    this.#parts = parts;
    this.#traffic = parts.traffic;
    this.#dialect = DIALECTS[options.protocol];
    const calls = new CallTable(parts.audience.recent);
    this.#calls = calls;
    this.tasks = new TaskSubscriptions(parts.audience.recent);
    const send = (message: Buffer): boolean => this.notify(message);
    const serverRequests = new ServerRequests({
      ...options,
      parts,
      calls,
      tasks: this.tasks,
      send,
    });
    this.#serverRequests = serverRequests;
    const watched = { calls, serverRequests, queue: parts.queue };
    this.#deadlines = new Deadlines(options.timeouts.request, watched, (call) =>
      this.#expire(call),
    );
    this.#misnamed = misnamedLine(parts.logger);
  }

  get inFlight(): number {
    return this.#calls.inFlight;
  }

  /**
   * Whether an interactive call of `client` must wait: another client has one in flight, and a server request
   * could belong to either.
   */
  hasInteractiveCallOfOthers(client: Downstream): boolean {
    return this.#calls.hasInteractiveCallOfOthers(client, this.#parts.tools);
  }

  get isWritable(): boolean {
    return this.#parts.channel.isWritable;
  }

  /** The calls at the server, oldest first, including abandoned ones. */
  calls(): IterableIterator<Call> {
    return this.#calls.all();
  }

  /** The clients of calls and tasks, including abandoned ones. */
  *callers(): Iterable<Downstream> {
    for (const { client } of this.calls()) if (client !== undefined) yield client;
    yield* this.tasks.subscribers();
  }

  /** Sends a client's request. It is settled by the answer, a deadline, a cancellation or `close`. */
  dispatch(request: Request): void {
    const { frame, limitMs = this.#options.timeouts.request } = request;
    const mostMs = Math.max(this.#options.timeouts.requestMax, limitMs);
    const nowMs = monotonicMs();
    const call = new Call(this, ++this.#lastId, request, limitMs, nowMs + mostMs);
    if (request.isPatient !== true) call.deadlineMs = nowMs + limitMs;
    call.mayAsk = this.#dialect.everyCallMayAsk || mayAsk(frame.method);
    call.interactiveTool = this.#parts.tools.match(frame);
    this.#open(call);
    request.canceller = call;
    request.sent?.(call);
    this.#send(onOneLine(withOwnId(frame, call.id)), request);
  }

  /**
   * Sends a request of the gateway itself.
   * @param limitMs how long the answer may take
   * @returns the answer; undefined if there was none in time, or the connection ended
   */
  request(method: string, params: unknown, limitMs: number): Promise<Frame | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#ask(method, params, limitMs, resolve);
    });
  }

  #ask(method: string, params: unknown, limitMs: number, onAnswer: OwnAnswer): number {
    const call = new Call(this, ++this.#lastId, onAnswer, limitMs, monotonicMs() + limitMs);
    this.#open(call);
    // It was not sent, so there will be no answer.
    if (!this.#send(callMessage(method, params, call.id))) call.deadlineMs = 0;
    return call.id;
  }

  /**
   * Sends a request of the gateway itself that stays open.
   * @param ended called when the server ends it, but not when the connection ends
   * @returns its id
   */
  openStream(method: string, params: unknown, ended: () => void): number {
    const onAnswer = (): void => {
      // When the whole connection is over, it can't be opened again.
      if (!this.#isClosed) ended();
    };
    return this.#ask(method, params, Number.POSITIVE_INFINITY, onAnswer);
  }

  /** Ends a request of `openStream`. */
  closeStream(id: number): void {
    const call = this.#calls.find(id);
    if (call === undefined) return;
    this.#calls.settle(call);
    this.notify(this.#dialect.cancelMessage(id, undefined));
  }

  /**
   * Sends a notification, or the response to a server request.
   * @returns false if it was dropped because the server's input is over its limit
   */
  notify(message: Buffer): boolean {
    return !this.#isClosed && this.#send(onOneLine(message));
  }

  /**
   * Takes one message of the server.
   * @param about the id of the call on whose own stream it came, if the channel knows
   */
  receive(message: Buffer, about?: number): void {
    this.#traffic.receivedBytes += message.length;
    const frame = scan(message, this.#dialect);
    if (frame.fault === 'array') this.#takeBatch(frame, about);
    else this.#take(frame, about);
  }

  /** A batch that is too long is not read, and a batch within a batch is not a message. */
  #takeBatch(batch: Frame, about: number | undefined): void {
    const texts = batchTexts(batch);
    if (texts === undefined) {
      this.#traffic.noise++;
      this.#parts.events.violated('batch_too_long');
    }
    // Copied, so that one message does not keep the others in memory.
    for (const text of texts ?? []) {
      this.#take(scan(copyText(text, batch.bytes), this.#dialect), about);
    }
  }

  #take(frame: Frame, about: number | undefined): void {
    switch (frame.kind) {
      case 'response':
        this.#traffic.responses++;
        this.#onResponse(frame);
        break;
      case 'notification':
        this.#traffic.notifications++;
        this.#onNotification(frame, about);
        break;
      case 'request':
        this.#traffic.serverRequests++;
        this.#onServerRequest(frame, about);
        break;
      case 'invalid':
        this.#onInvalid(frame);
        break;
    }
  }

  /** Fails the call whose answer was over the size limit. */
  receiveOversize(head: Buffer, tail: Buffer, length: number, isForRoom = false): void {
    const call = this.#callOf(ownerOfOversize(head, tail));
    const failure = isForRoom ? FAILURES.noRoomForAnswer : FAILURES.answerTooLarge;
    if (call !== undefined) this.#fail(call, failure(this.#options.server, length));
    if (!isForRoom) this.#parts.events.violated('message_too_large');
  }

  /** The answer to a call will not come. */
  failed(id: number, failure: RequestFailure): void {
    const call = this.#calls.find(id);
    if (call !== undefined) this.#fail(call, FAILURES.ofTransport(this.#options.server, failure));
  }

  /** Whether a call waits for its answer. */
  awaits(id: number): boolean {
    return this.#calls.find(id) !== undefined;
  }

  cancel(call: Call, notice: Frame | undefined): void {
    if (call.abandonedAtMs !== undefined || this.#calls.find(call.id) !== call) return;
    this.#giveUp(call, notice);
    this.#parts.queue.pump();
  }

  follow(taskId: string, subscriber: TaskSubscriber, maker: Call | undefined): TaskSubscription {
    const followed = this.tasks.follow(taskId, subscriber, maker, () => this.#parts.queue.pump());
    this.#serverRequests.followed(taskId, subscriber);
    return followed;
  }

  /**
   * The connection is over: every call fails, and every server request is withdrawn.
   * @param mayRepeat says which calls need not fail, because another connection may take them
   * @returns those calls
   */
  close(
    failure: (id: number) => GatewayError,
    mayRepeat: (id: number, request: Request) => boolean = () => false,
  ): Request[] {
    if (this.#isClosed) return [];
    this.#isClosed = true;
    this.#deadlines.stop();
    this.#serverRequests.close();
    const again: Request[] = [];
    for (const { id, onAnswer, abandonedAtMs, request } of this.#calls.clear()) {
      onAnswer?.(undefined);
      if (abandonedAtMs !== undefined || request === undefined) continue;
      if (mayRepeat(id, request)) again.push(request);
      else request.settle(failure(id));
    }
    this.tasks.close();
    return again;
  }

  #open(call: Call): void {
    this.#calls.open(call);
    this.#deadlines.watch();
  }

  #send(message: Buffer, request?: Request): boolean {
    this.#traffic.sentMessages++;
    this.#traffic.sentBytes += message.length;
    return this.#parts.channel.send(message, request?.client.principal);
  }

  #onResponse(frame: Frame): void {
    const call = this.#callOf(integerId(frame.bytes, frame.idStart, frame.idEnd));
    if (call === undefined) {
      this.#onUnmatched(frame);
      return;
    }
    this.#calls.settle(call);
    const { request } = call;
    if (!call.hasAsked) this.#parts.tools.noteQuiet(call);
    if (call.abandonedAtMs === undefined) {
      call.onAnswer?.(frame);
      if (request !== undefined) this.#respond(request, frame);
    }
    // Notifications about a task that the call made come for long, but need only the call's id.
    call.request = undefined;
    this.#serverRequests.callSettled(call);
    this.#parts.queue.pump();
  }

  #respond(request: Request, frame: Frame): void {
    const { lists, audience } = this.#parts;
    if (frame.resultStart >= 0) lists.note(request.frame, frame);
    else for (const id of requiredIds(frame)) audience.elicitations.given(id, request.client);
    settleWith(request, frame, this.#options.server);
  }

  /**
   * A string that contains an id of the gateway can only be meant for that call. Its real answer will not
   * come.
   */
  #onUnmatched(frame: Frame): void {
    this.#traffic.unmatched++;
    const call = this.#callOf(stringifiedId(frame.bytes, frame.idStart, frame.idEnd));
    if (call === undefined || call.isMisnamed) return;
    call.isMisnamed = true;
    after(RIGHT_ANSWER_MS, () => {
      if (this.#calls.find(call.id) !== call) return;
      this.#misnamed.note(call.id);
      this.#fail(call, FAILURES.answerIdIsText(this.#options.server, call.id));
    });
  }

  #onNotification(frame: Frame, about: number | undefined): void {
    if (frame.method === PROGRESS) passProgress(frame, this.#calls, this.tasks);
    else if (frame.method === CANCELLED) this.#serverRequests.cancelledByServer(frame);
    else if (!this.tasks.tell(frame))
      this.#parts.events.notified(frame, this.#callOf(about)?.caller);
  }

  #onServerRequest(frame: Frame, about: number | undefined): void {
    if (frame.method === PING && this.#options.protocol === 'mcp') {
      const id = frame.idBytes;
      if (id !== undefined) this.notify(resultMessage(id, EMPTY_OBJECT));
    } else {
      this.#serverRequests.ask(frame, this.#callOf(about));
    }
  }

  #callOf(id: number | undefined): Call | undefined {
    return id === undefined ? undefined : this.#calls.find(id);
  }

  #onInvalid(frame: Frame): void {
    // A malformed message with the id of a call ends that call, because its answer will not come.
    const call = this.#callOf(ownerOfInvalid(frame));
    const what = frame.fault ?? 'shape';
    this.#traffic.noise++;
    // JSON that is not JSON-RPC is usually a log line on the wrong stream. It is no reason to restart the
    // server.
    if (call === undefined) {
      logDropped(this.#parts.logger, what, frame.bytes);
      return;
    }
    this.#fail(call, FAILURES.answerNotJsonRpc(this.#options.server));
    this.#parts.events.violated(what);
  }

  #fail(call: Call, failure: GatewayError): void {
    const { request } = call;
    this.#calls.settle(call);
    call.onAnswer?.(undefined);
    request?.settle(failure);
    this.#serverRequests.callSettled(call);
    this.#parts.queue.pump();
  }

  /** Tells the server that nobody waits for the call. */
  #giveUp(call: Call, notice: Frame | undefined): void {
    this.#calls.abandon(call, monotonicMs());
    this.#serverRequests.callAbandoned(call);
    if (this.#isClosed) return;
    const { cancelMessage, hasPing } = this.#dialect;
    // A client's reason may be long. If the server's input is full, the cancellation is sent without it.
    const isSent = this.notify(cancelMessage(call.id, notice));
    if (!isSent) this.notify(cancelMessage(call.id, undefined));
    // A modern server sends no requests and has no ping.
    if (!call.mayAsk || !hasPing || call.isStateless || this.#calls.own >= MAX_PINGS) return;
    // A server reads in order. When it answers this ping, it has read the cancellation, and its earlier
    // requests are here.
    this.#ask(PING, undefined, this.#options.timeouts.request, (answer) => {
      if (answer !== undefined) call.cancelSeenAtMs = monotonicMs();
    });
  }

  #expire(call: Call): void {
    const { request } = call;
    if (request === undefined) {
      this.#calls.settle(call);
      call.onAnswer?.(undefined);
      this.#serverRequests.callSettled(call);
      return;
    }
    this.#giveUp(call, undefined);
    request.settle(FAILURES.noAnswerInTime(this.#options.server, call.limitMs));
  }
}
