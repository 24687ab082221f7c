// The requests that a server makes: holds each until it is clear which client's call it belongs to,
// hands it to that client, and carries the answer back under the server's own id
// (docs/protocol.md#attribution).

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

/**
 * How long a server request waits for the candidates to become one (docs/protocol.md#attribution).
 */
const HOLD_MS = 10_000;
const MAX_OPEN = 256;

/** What server requests have to do with on their connection. */
export interface ServerRequestsContext extends Pick<MuxOptions, 'server' | 'protocol'> {
  readonly parts: Pick<MuxParts, 'audience' | 'tools' | 'logger' | 'metrics' | 'staticRoots'>;
  readonly calls: CallTable;
  /** Who is asked for the tasks of the server. */
  readonly tasks: TaskSubscriptions;
  /** @returns false when it was dropped, since far too much waits for the server */
  send(message: Buffer): boolean;
}

/** One request of the server that is not answered yet. */
class OpenServerRequest implements ServerRequest {
  readonly frame: Frame;
  readonly key: string;
  readonly #id: Buffer;
  readonly #owner: ServerRequests;
  readonly askedAtMs = monotonicMs();
  /** Calls of several clients that may be behind it, while it is held. */
  candidates: Set<Call> | undefined;
  hold: Timer | undefined;
  /** The task that it belongs to, as it says. */
  taskId: string | undefined;
  /** It came on the stream of its call: there is nothing to find out, or to learn. */
  isCertain = false;
  client: Downstream | undefined;
  /** Calls of the client that was asked that may be behind it. */
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

/** The server's requests in flight on one connection. */
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
   * @param asker the call on whose own stream it came, where that is known
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

  /** Somebody is asked for a task from now on: what was asked for it before that can go there. */
  followed(taskId: string, subscriber: TaskSubscriber): void {
    for (const request of [...this.#open.values()]) {
      const isHeld = request.taskId === taskId && request.client === undefined;
      if (isHeld) this.#deliver(request, subscriber, undefined);
    }
  }

  /** A call ended at the server: it can't be the one that asked any more. */
  callSettled(call: Call): void {
    // Nearly always: nothing is asked, and this is on the way of every answer.
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

  /** A caller left: what was asked on its behalf is taken back and answered for it. */
  callAbandoned(call: Call): void {
    for (const request of [...this.#open.values()]) {
      if (request.askers.has(call)) this.#answerForNobody(request);
      else if (request.candidates?.has(call)) this.#judge(request);
    }
  }

  /** Takes back what the client of a call has not answered; the call itself goes on. */
  unanswered(call: Call): void {
    for (const request of [...this.#open.values()]) {
      if (!request.askers.has(call)) continue;
      request.client?.withdraw(request, undefined);
      request.settle(replyForNobody(request, ERRORS.clientLate));
    }
  }

  /** Takes a server request back that only calls can be behind whose caller left. */
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

  /** Sends an answer and forgets the server request. */
  settle(request: OpenServerRequest, message: Buffer, outcome: string): void {
    if (this.#open.get(request.key) !== request) return;
    this.#forget(request);
    this.#count(request, outcome);
    if (this.#send(message)) return;
    // Short, so that it is kept.
    this.#send(errorMessage(request.frame.idBytes, ERRORS.responseNotRead));
  }

  /** Passes something on to the server that is about a server request. */
  relay(message: Buffer): void {
    this.#send(message);
  }

  /**
   * A server request that names its task is for whoever the task belongs to, and for nobody else.
   */
  #routeToTask(request: OpenServerRequest, taskId: string): void {
    const subscriber = this.#context.tasks.find(taskId);
    request.taskId = taskId;
    // The answer to the call that made the task may be on its way.
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
      // Whoever of them it was: if all call the same tool, no further call of it may join them.
      this.#learn(candidates, false);
      this.#hold(request, candidates);
    }
  }

  /** Remembers which tools ask, so that their calls wait for each other from now on. */
  #learn(candidates: ReadonlySet<Call>, mayBeSuspected: boolean): void {
    // On a private instance there is nobody else to mix a server request up with.
    const { audience, tools: known } = this.#context.parts;
    if (audience.soleClient !== undefined) return;
    const tools: (string | undefined)[] = [];
    for (const call of candidates) {
      call.hasAsked = true;
      if (call.client !== undefined) tools.push(call.tool);
    }
    known.learn(tools, mayBeSuspected);
  }

  /** Waits for a candidate to drop out: one that is answered, or abandoned for long enough. */
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
      // Those whose callers left: the server was told to cancel them, and did not answer.
      const abandoned = calls.filter(({ abandonedAtMs }) => abandonedAtMs !== undefined).length;
      this.#context.parts.logger.warn(
        { method: request.frame.method, tools: [...new Set(tools)].filter(Boolean), abandoned },
        'a question of a shared server could not be attributed; set `sharing: session` for it',
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
    // A server of several clients was not told that they have tasks.
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

  /** The server can't use an answer any more: nothing is sent to it. */
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

  /** @returns false when it was dropped */
  #send(message: Buffer): boolean {
    return this.#isClosed || this.#context.send(message);
  }
}

/** A server request of a call is settled. The user may have taken longer than the call had left. */
function noteSettled(call: Call): void {
  call.openServerRequests--;
  call.deadlineMs = Math.max(call.deadlineMs, monotonicMs() + HOLD_MS);
}
