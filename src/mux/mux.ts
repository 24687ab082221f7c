// Many callers on one connection to a server: gives every request an id of the connection's own,
// matches answers and progress with it, restores what the caller sent, keeps deadlines, cancels.
// Knows ids; knows nothing of HTTP, sessions or processes.

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
/** Pings at a server that does not answer; cancels are cheap for clients. */
const MAX_PINGS = 64;

/** The client side of one connection. */
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
   * Whether a call of an interactive tool by `client` has to wait: another client's is at the
   * server, and a request of the server's could then be either's.
   */
  hasInteractiveCallOfOthers(client: Downstream): boolean {
    return this.#calls.hasInteractiveCallOfOthers(client, this.#parts.tools);
  }

  get isWritable(): boolean {
    return this.#parts.channel.isWritable;
  }

  /** Calls at the server, oldest first, those whose caller left included. */
  calls(): IterableIterator<Call> {
    return this.#calls.all();
  }

  /** Whose calls and tasks are here, those included whose caller left. */
  *callers(): Iterable<Downstream> {
    for (const { client } of this.calls()) if (client !== undefined) yield client;
    yield* this.tasks.subscribers();
  }

  /** Sends a client's request on. It is settled by the answer, a deadline, a cancel or `close`. */
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
   * Makes a request of the gateway's own.
   * @param limitMs how long the answer may take
   * @returns the answer, or undefined when none came in time or the connection ended
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
    // What the server was never asked it won't answer.
    if (!this.#send(callMessage(method, params, call.id))) call.deadlineMs = 0;
    return call.id;
  }

  /**
   * Makes a request of the gateway's own that stays open.
   * @param ended told when the server ends it; not when the connection does
   * @returns its id
   */
  openStream(method: string, params: unknown, ended: () => void): number {
    const onAnswer = (): void => {
      // Answered, or broken off; with the whole connection gone there is nobody to open it again.
      if (!this.#isClosed) ended();
    };
    return this.#ask(method, params, Number.POSITIVE_INFINITY, onAnswer);
  }

  /** Ends a request that `openStream` made. */
  closeStream(id: number): void {
    const call = this.#calls.find(id);
    if (call === undefined) return;
    this.#calls.settle(call);
    this.notify(this.#dialect.cancelMessage(id, undefined));
  }

  /**
   * Sends a notification, or an answer to one of the server's requests.
   * @returns false when it was dropped, since far too much waits for the server
   */
  notify(message: Buffer): boolean {
    return !this.#isClosed && this.#send(onOneLine(message));
  }

  /**
   * Takes one message of the server.
   * @param about the call on whose own stream it came, where the channel knows
   */
  receive(message: Buffer, about?: number): void {
    this.#traffic.receivedBytes += message.length;
    const frame = scan(message, this.#dialect);
    if (frame.fault === 'array') this.#takeBatch(frame, about);
    else this.#take(frame, about);
  }

  /** No more is read of one that is too long, and a batch in a batch is no message. */
  #takeBatch(batch: Frame, about: number | undefined): void {
    const texts = batchTexts(batch);
    if (texts === undefined) {
      this.#traffic.noise++;
      this.#parts.events.violated('batch_too_long');
    }
    // Copied: what is kept of one message must not keep the others.
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

  /** Whether a call is still to be answered. */
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
   * The connection is over: every call fails, every server request is withdrawn.
   * @param mayRepeat which calls need not fail, since another connection may take them
   * @returns those
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
    // A task that it made is told of for long, and needs no more of the call than its id.
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

  /** An id of ours as a text can only be meant for that call, whose answer will not come. */
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
    // A message that names one of our calls but is no answer ends that call: its answer won't come.
    const call = this.#callOf(ownerOfInvalid(frame));
    const what = frame.fault ?? 'shape';
    this.#traffic.noise++;
    // JSON that is no JSON-RPC is what a server logs to the wrong stream: no reason to restart it.
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

  /** Tells the server that nobody waits for the call any more. */
  #giveUp(call: Call, notice: Frame | undefined): void {
    this.#calls.abandon(call, monotonicMs());
    this.#serverRequests.callAbandoned(call);
    if (this.#isClosed) return;
    const { cancelMessage, hasPing } = this.#dialect;
    // A client may say at length why it cancels, and a server that does not read must hear of it all the same.
    const isSent = this.notify(cancelMessage(call.id, notice));
    if (!isSent) this.notify(cancelMessage(call.id, undefined));
    // A stateless server asks nothing by itself, and has no ping.
    if (!call.mayAsk || !hasPing || call.isStateless || this.#calls.own >= MAX_PINGS) return;
    // It reads in order: with the answer to this it has read the cancel, and what it asked before
    // that is here.
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
