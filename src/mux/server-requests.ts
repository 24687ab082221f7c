// The requests that a server sends. Each waits until it is clear to which client's call it belongs, is sent
// to that client, and is answered with the server's own id (docs/protocol.md#attribution).

import { after, monotonicMs, type Timer } from '../base/clock.ts';
import { isTextWithin, TEXT_LIMITS } from '../base/text-limits.ts';
import type { WireError } from '../jsonrpc/error.ts';
import { Frame } from '../jsonrpc/frame.ts';
import { idKey } from '../jsonrpc/id.ts';
import { textParam } from '../jsonrpc/parse.ts';
import { errorMessage, resultMessage } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { refusalFor } from '../mcp/capabilities.ts';
import { ERRORS, notOfferedByClient } from '../mcp/errors.ts';
import { ELICITATION, isTaskMethod, methodLabel, ROOTS_LIST } from '../mcp/methods.ts';
import { relatedTaskOf } from '../mcp/related-task.ts';
import {
  type Downstream,
  type Reply,
  replyForNobody,
  type ServerRequest,
} from '../ports/downstream.ts';
import type { TaskSubscriber } from '../ports/request.ts';
import { candidatesOf, judge, nextDropoutMs, stillCandidates } from './attribution.ts';
import type { Call } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { MuxOptions, MuxParts } from './mux-contract.ts';
import type { TaskSubscriptions } from './task-subscriptions.ts';

/** How long a server request waits until only one client is left (docs/protocol.md#attribution). */
const HOLD_MS = 10_000;
const MAX_OPEN = 256;

/** What server requests need from their connection. */
export interface ServerRequestsContext extends Pick<MuxOptions, 'server' | 'protocol'> {
  readonly parts: Pick<MuxParts, 'audience' | 'tools' | 'logger' | 'metrics' | 'staticRoots'>;
  readonly calls: CallTable;
  /** The owners of the server's tasks. */
  readonly tasks: TaskSubscriptions;
  /** @returns false if it was dropped because the server's input is over its limit */
  send(message: Buffer): boolean;
}

/** One request of the server that is not answered yet. */
class OpenServerRequest implements ServerRequest {
  readonly frame: Frame;
  readonly key: string;
  readonly #id: Buffer;
  readonly #owner: ServerRequests;
  readonly askedAtMs = monotonicMs();
  /** While it waits: the calls of several clients that may have caused it. */
  candidates: Set<Call> | undefined;
  hold: Timer | undefined;
  /** The task that it names. */
  taskId: string | undefined;
  /** It came on the stream of its call, so there is nothing to find out or to learn. */
  isCertain = false;
  client: Downstream | undefined;
  /** The calls of the asked client that may have caused it. */
  askers: Set<Call> = new Set();

  constructor(owner: ServerRequests, frame: Frame, id: Buffer) {
    this.#owner = owner;
    this.frame = frame;
    this.#id = id;
    this.key = idKey(id);
  }

  settle(reply: Reply): void {
    if (reply instanceof Frame) {
      const { bytes, idStart, idEnd } = reply;
      this.#owner.settle(this, replaceSpan(bytes, idStart, idEnd, this.#id), 'answered');
    } else if (Buffer.isBuffer(reply)) {
      this.#owner.settle(this, resultMessage(this.#id, reply), 'answered');
    } else {
      this.#owner.settle(this, errorMessage(this.#id, reply), 'refused');
    }
  }

  progress(notification: Frame): void {
    const token = this.frame.slice(this.frame.tokenStart, this.frame.tokenEnd);
    const { bytes, tokenStart, tokenEnd } = notification;
    if (token === undefined || tokenStart < 0) return;
    this.#owner.relay(replaceSpan(bytes, tokenStart, tokenEnd, token));
  }
}

/** The open requests of the server on one connection. */
export class ServerRequests {
  readonly #context: ServerRequestsContext;
  readonly #open = new Map<string, OpenServerRequest>();
  #hasAdvised = false;
  #isClosed = false;

  constructor(context: ServerRequestsContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Takes a request of the server.
   * @param asker the call on whose own stream it came, if that is known
   */
  ask(frame: Frame, asker?: Call): void {
    const id = frame.idBytes;
    if (id === undefined) return;
    const request = new OpenServerRequest(this, frame, id);
    if (this.#open.has(request.key)) {
      this.#send(errorMessage(id, ERRORS.askedWithUsedId));
      return;
    }
    this.#open.set(request.key, request);
    if (this.#open.size > MAX_OPEN) {
      request.settle(ERRORS.askedTooMuch);
    } else if (frame.method === ROOTS_LIST && this.#context.parts.staticRoots !== undefined) {
      request.settle(this.#context.parts.staticRoots);
    } else {
      this.#route(request, asker);
    }
  }

  /** The owner of a task is known from now on: delivers waiting server requests of that task. */
  followed(taskId: string, subscriber: TaskSubscriber): void {
    for (const request of [...this.#open.values()]) {
      const isHeld = request.taskId === taskId && request.client === undefined;
      if (isHeld) this.#deliver(request, subscriber, undefined);
    }
  }

  /** A call is over at the server, so it is no longer a candidate. */
  callSettled(call: Call): void {
    // Nearly always no server request is open, and every answer passes here.
    if (this.#open.size === 0) return;
    for (const request of [...this.#open.values()]) {
      if (request.candidates?.delete(call)) this.#judge(request);
      else if (request.askers.delete(call)) {
        noteSettled(call);
        if (request.askers.size === 0) this.#drop(request);
        else this.#answerForNobody(request);
      }
    }
  }

  /** The caller of a call left: withdraws its server requests, and answers them. */
  callAbandoned(call: Call): void {
    for (const request of [...this.#open.values()]) {
      if (request.askers.has(call)) this.#answerForNobody(request);
      else if (request.candidates?.has(call)) this.#judge(request);
    }
  }

  /** Withdraws server requests that a client has not answered. Their call goes on. */
  unanswered(call: Call): void {
    for (const request of [...this.#open.values()]) {
      if (!request.askers.has(call)) continue;
      request.client?.withdraw(request, undefined);
      request.settle(replyForNobody(request, ERRORS.clientLate));
    }
  }

  /** Withdraws a server request if all calls that may have caused it are abandoned. */
  #answerForNobody(request: OpenServerRequest): void {
    for (const { abandonedAtMs } of request.askers) if (abandonedAtMs === undefined) return;
    request.client?.withdraw(request, undefined);
    request.settle(replyForNobody(request, ERRORS.clientGone));
  }

  /** The server no longer wants an answer. */
  cancelledByServer(notice: Frame): void {
    const id = notice.slice(notice.requestIdStart, notice.requestIdEnd);
    if (id === undefined) return;
    const request = this.#open.get(idKey(id));
    if (request === undefined) return;
    request.client?.withdraw(request, notice);
    this.#forget(request);
    this.#count(request, 'cancelled');
  }

  /** The connection is over. */
  close(): void {
    this.#isClosed = true;
    for (const request of [...this.#open.values()]) this.#drop(request);
  }

  /** Sends the answer, and removes the server request. */
  settle(request: OpenServerRequest, message: Buffer, outcome: string): void {
    if (this.#open.get(request.key) !== request) return;
    this.#forget(request);
    this.#count(request, outcome);
    if (this.#send(message)) return;
    // Short, so that the server's input accepts it.
    this.#send(errorMessage(request.frame.idBytes, ERRORS.responseNotRead));
  }

  /** Sends a message about a server request to the server. */
  relay(message: Buffer): void {
    this.#send(message);
  }

  /** A server request that names its task goes only to the owner of the task. */
  #routeToTask(request: OpenServerRequest, taskId: string): void {
    const subscriber = this.#context.tasks.find(taskId);
    request.taskId = taskId;
    // The answer to the call that made the task may still be on its way.
    if (subscriber === undefined) request.hold = after(HOLD_MS, () => this.#giveUp(request));
    else this.#deliver(request, subscriber, undefined);
  }

  #route(request: OpenServerRequest, asker: Call | undefined): void {
    const taskId = this.#context.protocol === 'mcp' ? relatedTaskOf(request.frame) : undefined;
    if (taskId !== undefined) {
      this.#routeToTask(request, taskId);
      return;
    }
    const sole = this.#context.parts.audience.soleClient;
    request.isCertain = asker?.client !== undefined;
    request.candidates =
      asker?.client === undefined
        ? candidatesOf(this.#context.calls.all(), monotonicMs())
        : new Set([asker]);
    if (sole !== undefined && request.candidates.size === 0) {
      this.#deliver(request, sole, undefined);
      return;
    }
    this.#judge(request);
  }

  #judge(request: OpenServerRequest): void {
    const { candidates } = request;
    if (candidates === undefined) return;
    const verdict = judge(candidates);
    if (verdict.kind === 'one') {
      if (!request.isCertain) this.#learn(candidates, true);
      this.#deliver(request, verdict.client, verdict.call);
    } else if (verdict.kind === 'none') {
      this.#giveUp(request);
    } else {
      // If all candidates call the same tool, it is interactive, whichever call asked. No other call of it
      // should become a candidate.
      this.#learn(candidates, false);
      this.#hold(request, candidates);
    }
  }

  /** Remembers which tools are interactive, so that their calls wait for each other. */
  #learn(candidates: ReadonlySet<Call>, mayBeSuspected: boolean): void {
    // On a private instance a server request can't reach a wrong client.
    const { audience, tools: known } = this.#context.parts;
    if (audience.soleClient !== undefined) return;
    const tools: (string | undefined)[] = [];
    for (const call of candidates) {
      call.hasAsked = true;
      if (call.client !== undefined) tools.push(call.tool);
    }
    known.learn(tools, mayBeSuspected);
  }

  /** Waits for a candidate to drop out: it is answered, or was abandoned long enough ago. */
  #hold(request: OpenServerRequest, candidates: ReadonlySet<Call>): void {
    const { askedAtMs } = request;
    const nowMs = monotonicMs();
    const leftMs = askedAtMs + HOLD_MS - nowMs;
    const waitMs = Math.min(leftMs, nextDropoutMs(candidates, askedAtMs, nowMs));
    request.hold?.cancel();
    if (waitMs > 0) {
      request.hold = after(Math.ceil(waitMs), () => {
        request.candidates = stillCandidates(candidates, askedAtMs, monotonicMs());
        this.#judge(request);
      });
    } else {
      this.#giveUp(request);
    }
  }

  #giveUp(request: OpenServerRequest): void {
    if (!this.#hasAdvised) {
      this.#hasAdvised = true;
      const calls = [...(request.candidates ?? [])];
      const tools = calls.map(({ tool }) => tool);
      // Abandoned calls: the server got their cancellation, and did not answer them.
      const abandoned = calls.filter(({ abandonedAtMs }) => abandonedAtMs !== undefined).length;
      this.#context.parts.logger.warn(
        { method: request.frame.method, tools: [...new Set(tools)].filter(Boolean), abandoned },
        'a request of a shared server could not be attributed; set `sharing: session` for it',
      );
    }
    if (request.candidates !== undefined) this.#learn(request.candidates, true);
    this.#forget(request);
    this.#count(request, 'unattributable');
    this.#send(errorMessage(request.frame.idBytes, ERRORS.unattributable));
  }

  #deliver(request: OpenServerRequest, client: Downstream, call: Call | undefined): void {
    const askers = request.candidates ?? new Set();
    this.#release(request);
    const error = this.#refusal(request.frame, client);
    if (error !== undefined) {
      request.settle(error);
      return;
    }
    request.client = client;
    request.askers = askers;
    for (const asker of askers)
      if (asker.openServerRequests++ === 0) asker.askedAtMs = monotonicMs();
    this.#noteElicitation(request.frame, client);
    client.ask(request, call?.request);
  }

  #refusal(frame: Frame, client: Downstream): WireError | undefined {
    if (this.#context.protocol === 'jsonrpc') return undefined;
    // A shared server was not told that its clients have tasks.
    const isShared = this.#context.parts.audience.soleClient === undefined;
    const refusal =
      isTaskMethod(frame.method) && isShared
        ? 'method'
        : refusalFor(client.capabilities, frame.method, textParam(frame, 'mode'));
    if (refusal === undefined) return undefined;
    return refusal === 'method' ? notOfferedByClient(frame.method) : ERRORS.modeNotOffered;
  }

  #noteElicitation(frame: Frame, client: Downstream): void {
    if (frame.method !== ELICITATION) return;
    const elicitationId = textParam(frame, 'elicitationId');
    if (!isTextWithin(elicitationId, TEXT_LIMITS.serverId)) return;
    this.#context.parts.audience.elicitations.given(elicitationId, client);
  }

  /** The server does not need an answer any more, so none is sent. */
  #drop(request: OpenServerRequest): void {
    request.client?.withdraw(request, undefined);
    this.#forget(request);
    this.#count(request, 'dropped');
  }

  #forget(request: OpenServerRequest): void {
    this.#open.delete(request.key);
    this.#release(request);
    for (const call of request.askers) noteSettled(call);
    request.askers.clear();
  }

  #release(request: OpenServerRequest): void {
    request.hold?.cancel();
    request.hold = undefined;
    request.candidates = undefined;
  }

  #count(request: OpenServerRequest, outcome: string): void {
    const { server, parts } = this.#context;
    parts.metrics.serverRequests.inc({
      server,
      method: methodLabel(request.frame.method),
      outcome,
    });
  }

  /** @returns false if it was dropped */
  #send(message: Buffer): boolean {
    return this.#isClosed || this.#context.send(message);
  }
}

/**
 * A server request of a call is settled. The user may have taken longer than the call's remaining time, so
 * the deadline is extended.
 */
function noteSettled(call: Call): void {
  call.openServerRequests--;
  call.deadlineMs = Math.max(call.deadlineMs, monotonicMs() + HOLD_MS);
}
