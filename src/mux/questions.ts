// The requests that a server makes: holds each until it is clear which client's call it belongs to,
// hands it to that client, and carries the answer back under the server's own id
// (docs/protocol.md#attribution).
import { after, monotonicMs, type Timer } from '../base/clock.ts';
import { isTextWithin, TEXT_LIMITS } from '../base/text-limits.ts';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  type WireError,
} from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { idKey } from '../jsonrpc/id.ts';
import { parseParams } from '../jsonrpc/parse.ts';
import { errorMessage, resultMessage } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { refusalFor } from '../mcp/capabilities.ts';
import { ELICITATION, isTaskMethod, methodLabel, ROOTS_LIST } from '../mcp/methods.ts';
import { relatedTaskOf } from '../mcp/related-task.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Downstream, Question } from '../ports/downstream.ts';
import type { TaskFollower } from '../ports/task.ts';
import { candidatesOf, judge, nextDropoutMs, stillCandidates } from './attribution.ts';
import type { Call } from './call.ts';
import type { InteractiveTools } from './interactive-tools.ts';

/** How long a question waits for the candidates to become one (docs/protocol.md#attribution). */
const HOLD_MS = 10_000;
const MAX_OPEN = 256;

const UNATTRIBUTABLE: WireError = {
  code: INTERNAL_ERROR,
  message:
    'Several clients have calls at this server, and it is not clear which one to ask. With ' +
    '`sharing: session` each client has a process of its own, and this does not happen.',
  data: { reason: 'unattributable' },
};

const NOT_READ: WireError = {
  code: INTERNAL_ERROR,
  message: 'The response of the client was dropped: this server does not read its input.',
};

/** What the questions of one connection need of their surroundings. */
export interface QuestionsContext {
  readonly server: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  /** The only client of a private instance that has one; undefined otherwise. */
  soleClient(): Downstream | undefined;
  /** The answer to `roots/list` when the gateway has it, as JSON text. */
  readonly staticRoots: Buffer | undefined;
  readonly tools: InteractiveTools;
  readonly logger: Logger;
  readonly metrics: Metrics;
  calls(): Iterable<Call>;
  /** Who is asked for a task of the server. */
  followerOf(taskId: string): TaskFollower | undefined;
  /** @returns false when it was dropped, since far too much waits for the server */
  send(message: Buffer): boolean;
  /** An elicitation with this id was given to this client. */
  elicited(elicitationId: string, client: Downstream): void;
}

/** One request of the server that is not answered yet. */
class OpenQuestion implements Question {
  readonly frame: Frame;
  readonly key: string;
  readonly #id: Buffer;
  readonly #owner: Questions;
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

  constructor(owner: Questions, frame: Frame, id: Buffer) {
    this.#owner = owner;
    this.frame = frame;
    this.#id = id;
    this.key = idKey(id);
  }

  answer(response: Frame): void {
    const { bytes, idStart, idEnd } = response;
    this.#owner.settle(this, replaceSpan(bytes, idStart, idEnd, this.#id), 'answered');
  }

  answerWith(result: Buffer): void {
    this.#owner.settle(this, resultMessage(this.#id, result), 'answered');
  }

  refuse(error: WireError): void {
    this.#owner.settle(this, errorMessage(this.#id, error), 'refused');
  }

  progress(notification: Frame): void {
    const token = this.frame.slice(this.frame.tokenStart, this.frame.tokenEnd);
    const { bytes, tokenStart, tokenEnd } = notification;
    if (token === undefined || tokenStart < 0) return;
    this.#owner.relay(replaceSpan(bytes, tokenStart, tokenEnd, token));
  }
}

/** The server's requests in flight on one connection. */
export class Questions {
  readonly #context: QuestionsContext;
  readonly #open = new Map<string, OpenQuestion>();
  #hasAdvised = false;
  #isClosed = false;

  constructor(context: QuestionsContext) {
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
    const question = new OpenQuestion(this, frame, id);
    if (this.#open.has(question.key)) {
      this.#send(errorMessage(id, { code: INVALID_REQUEST, message: 'This id is in use.' }));
      return;
    }
    this.#open.set(question.key, question);
    if (this.#open.size > MAX_OPEN) {
      question.refuse({ code: INTERNAL_ERROR, message: 'Too many questions are open.' });
    } else if (frame.method === ROOTS_LIST && this.#context.staticRoots !== undefined) {
      question.answerWith(this.#context.staticRoots);
    } else {
      this.#route(question, asker);
    }
  }

  /** Somebody is asked for a task from now on: what was asked for it before that can go there. */
  followed(taskId: string, follower: TaskFollower): void {
    for (const question of [...this.#open.values()]) {
      const isHeld = question.taskId === taskId && question.client === undefined;
      if (isHeld) this.#deliver(question, follower, undefined);
    }
  }

  /** A call ended at the server: it can't be the one that asked any more. */
  callSettled(call: Call): void {
    // Nearly always: nothing is asked, and this is on the way of every answer.
    if (this.#open.size === 0) return;
    for (const question of [...this.#open.values()]) {
      if (question.candidates?.delete(call)) this.#judge(question);
      else if (question.askers.delete(call)) {
        rest(call);
        if (question.askers.size === 0) this.#drop(question);
        else this.#answerForNobody(question);
      }
    }
  }

  /** A caller left: what was asked on its behalf is taken back and answered for it. */
  callAbandoned(call: Call): void {
    for (const question of [...this.#open.values()]) {
      if (question.askers.has(call)) this.#answerForNobody(question);
      else if (question.candidates?.has(call)) this.#judge(question);
    }
  }

  /** Takes back what the client of a call has not answered; the call itself goes on. */
  unanswered(call: Call): void {
    for (const question of [...this.#open.values()]) {
      if (!question.askers.has(call)) continue;
      question.client?.withdraw(question, undefined);
      this.refuseLate(question, 'The client did not answer in time, and others wait.');
    }
  }

  /** Takes a question back that only calls can be behind whose caller left. */
  #answerForNobody(question: OpenQuestion): void {
    for (const { abandonedAtMs } of question.askers) if (abandonedAtMs === undefined) return;
    question.client?.withdraw(question, undefined);
    this.refuseLate(question);
  }

  /** The server no longer wants an answer. */
  cancelledByServer(notice: Frame): void {
    const id = notice.slice(notice.requestIdStart, notice.requestIdEnd);
    if (id === undefined) return;
    const question = this.#open.get(idKey(id));
    if (question === undefined) return;
    question.client?.withdraw(question, notice);
    this.#forget(question);
    this.#count(question, 'cancelled');
  }

  /** The connection is over. */
  close(): void {
    this.#isClosed = true;
    for (const question of [...this.#open.values()]) this.#drop(question);
  }

  /** Sends an answer and forgets the question. */
  settle(question: OpenQuestion, message: Buffer, outcome: string): void {
    if (this.#open.get(question.key) !== question) return;
    this.#forget(question);
    this.#count(question, outcome);
    if (this.#send(message)) return;
    // Short, so that it is kept.
    this.#send(errorMessage(question.frame.idBytes, NOT_READ));
  }

  /** Passes something on to the server that is about a question. */
  relay(message: Buffer): void {
    this.#send(message);
  }

  /** Answers for a client that is gone: as the user who closes a form, where that can be said. */
  refuseLate(question: OpenQuestion, why = 'The client that was asked is gone.'): void {
    if (question.frame.method === ELICITATION) {
      question.answerWith(Buffer.from('{"action":"cancel"}'));
    } else {
      question.refuse({ code: INTERNAL_ERROR, message: why });
    }
  }

  /** A question that names its task is for whoever the task belongs to, and for nobody else. */
  #routeToTask(question: OpenQuestion, taskId: string): void {
    const follower = this.#context.followerOf(taskId);
    question.taskId = taskId;
    // The answer to the call that made the task may be on its way.
    if (follower === undefined) question.hold = after(HOLD_MS, () => this.#giveUp(question));
    else this.#deliver(question, follower, undefined);
  }

  #route(question: OpenQuestion, asker: Call | undefined): void {
    const taskId = this.#context.protocol === 'mcp' ? relatedTaskOf(question.frame) : undefined;
    if (taskId !== undefined) {
      this.#routeToTask(question, taskId);
      return;
    }
    const sole = this.#context.soleClient();
    question.isCertain = asker?.client !== undefined;
    question.candidates =
      asker?.client === undefined
        ? candidatesOf(this.#context.calls(), monotonicMs())
        : new Set([asker]);
    if (sole !== undefined && question.candidates.size === 0) {
      this.#deliver(question, sole, undefined);
      return;
    }
    this.#judge(question);
  }

  #judge(question: OpenQuestion): void {
    const { candidates } = question;
    if (candidates === undefined) return;
    const verdict = judge(candidates);
    if (verdict.kind === 'one') {
      if (!question.isCertain) this.#learn(candidates, true);
      this.#deliver(question, verdict.client, verdict.call);
    } else if (verdict.kind === 'none') {
      this.#giveUp(question);
    } else {
      // Whoever of them it was: if all call the same tool, no further call of it may join them.
      this.#learn(candidates, false);
      this.#hold(question, candidates);
    }
  }

  /** Remembers which tools ask, so that their calls wait for each other from now on. */
  #learn(candidates: ReadonlySet<Call>, mayBeSuspected: boolean): void {
    // On a private instance there is nobody else to mix a question up with.
    if (this.#context.soleClient() !== undefined) return;
    const tools: (string | undefined)[] = [];
    for (const call of candidates) {
      call.hasAsked = true;
      if (call.client !== undefined) tools.push(call.tool);
    }
    this.#context.tools.learn(tools, mayBeSuspected);
  }

  /** Waits for a candidate to drop out: one that is answered, or abandoned for long enough. */
  #hold(question: OpenQuestion, candidates: ReadonlySet<Call>): void {
    const { askedAtMs } = question;
    const nowMs = monotonicMs();
    const leftMs = askedAtMs + HOLD_MS - nowMs;
    const waitMs = Math.min(leftMs, nextDropoutMs(candidates, askedAtMs, nowMs));
    question.hold?.cancel();
    if (waitMs > 0) {
      question.hold = after(Math.ceil(waitMs), () => {
        question.candidates = stillCandidates(candidates, askedAtMs, monotonicMs());
        this.#judge(question);
      });
    } else {
      this.#giveUp(question);
    }
  }

  #giveUp(question: OpenQuestion): void {
    if (!this.#hasAdvised) {
      this.#hasAdvised = true;
      const calls = [...(question.candidates ?? [])];
      const tools = calls.map(({ tool }) => tool);
      // Those whose callers left: the server was told to cancel them, and did not answer.
      const abandoned = calls.filter(({ abandonedAtMs }) => abandonedAtMs !== undefined).length;
      this.#context.logger.warn(
        { method: question.frame.method, tools: [...new Set(tools)].filter(Boolean), abandoned },
        'a question of a shared server could not be attributed; set `sharing: session` for it',
      );
    }
    if (question.candidates !== undefined) this.#learn(question.candidates, true);
    this.#forget(question);
    this.#count(question, 'unattributable');
    this.#send(errorMessage(question.frame.idBytes, UNATTRIBUTABLE));
  }

  #deliver(question: OpenQuestion, client: Downstream, call: Call | undefined): void {
    const askers = question.candidates ?? new Set();
    this.#release(question);
    const error = this.#refusal(question.frame, client);
    if (error !== undefined) {
      question.refuse(error);
      return;
    }
    question.client = client;
    question.askers = askers;
    for (const asker of askers) if (asker.openQuestions++ === 0) asker.askedAtMs = monotonicMs();
    this.#noteElicitation(question.frame, client);
    client.ask(question, call?.request);
  }

  #refusal(frame: Frame, client: Downstream): WireError | undefined {
    if (this.#context.protocol === 'jsonrpc') return undefined;
    // A server of several clients was not told that they have tasks.
    const isShared = this.#context.soleClient() === undefined;
    const refusal =
      isTaskMethod(frame.method) && isShared
        ? 'method'
        : refusalFor(client.capabilities, frame.method, parseParams(frame));
    if (refusal === undefined) return undefined;
    if (refusal === 'method') {
      return { code: METHOD_NOT_FOUND, message: `The client does not offer ${frame.method}.` };
    }
    return { code: INVALID_PARAMS, message: 'The client does not offer this elicitation mode.' };
  }

  #noteElicitation(frame: Frame, client: Downstream): void {
    if (frame.method !== ELICITATION) return;
    const elicitationId = parseParams(frame)['elicitationId'];
    if (!isTextWithin(elicitationId, TEXT_LIMITS.serverId)) return;
    this.#context.elicited(elicitationId, client);
  }

  /** The server can't use an answer any more: nothing is sent to it. */
  #drop(question: OpenQuestion): void {
    question.client?.withdraw(question, undefined);
    this.#forget(question);
    this.#count(question, 'dropped');
  }

  #forget(question: OpenQuestion): void {
    this.#open.delete(question.key);
    this.#release(question);
    for (const call of question.askers) rest(call);
    question.askers.clear();
  }

  #release(question: OpenQuestion): void {
    question.hold?.cancel();
    question.hold = undefined;
    question.candidates = undefined;
  }

  #count(question: OpenQuestion, outcome: string): void {
    const { server, metrics } = this.#context;
    metrics.serverRequests.inc({ server, method: methodLabel(question.frame.method), outcome });
  }

  /** @returns false when it was dropped */
  #send(message: Buffer): boolean {
    return this.#isClosed || this.#context.send(message);
  }
}

/** A question is off a call's mind. The user may have taken longer than the call had left. */
function rest(call: Call): void {
  call.openQuestions--;
  call.deadlineMs = Math.max(call.deadlineMs, monotonicMs() + HOLD_MS);
}
