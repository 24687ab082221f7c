/**
 * Owns one task of the modern fixture (SEP-2663): its work, its questions, its end, and how it looks on
 * the wire. A tool that reports an error completes; only an error of the protocol fails a task.
 */

import {
  type CallToolResult,
  type InputRequests,
  ProtocolError,
} from '@modelcontextprotocol/server';

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** What every message about a task says of it. */
interface TaskInfo {
  readonly taskId: string;
  readonly status: Status;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly [field: string]: unknown;
}

type Outcome = { readonly result: unknown } | { readonly error: unknown };

/** The result of the call that makes a task. */
export interface CreatedTask extends TaskInfo {
  readonly resultType: 'task';
}

/** What a task's work may do. */
export interface TaskDesk {
  /** Aborted when the task is cancelled. */
  readonly signal: AbortSignal;
  /** Asks the client; settles when every question is answered. */
  readonly ask: (questions: InputRequests) => Promise<Readonly<Record<string, unknown>>>;
}

/** How long a task can be asked about, and how often it wants to be, in ms. */
const TTL_MS = 300_000;
const POLL_MS = 100;

/** A task at work, or at its end. */
export class ModernTask {
  readonly #taskId: string;
  readonly #createdAt = new Date().toISOString();
  readonly #abort = new AbortController();
  readonly #answers: Record<string, unknown> = {};
  #lastUpdatedAt = this.#createdAt;
  #status: Status = 'working';
  #questions: InputRequests = {};
  #outcome: Outcome | undefined;
  #resume: () => void = () => undefined;

  constructor(taskId: string, work: (desk: TaskDesk) => Promise<CallToolResult>) {
    this.#taskId = taskId;
    const desk = { signal: this.#abort.signal, ask: (asked: InputRequests) => this.#ask(asked) };
    work(desk).then(
      (result) => this.#end('completed', { result }),
      (error: unknown) => this.#end('failed', { error: describe(error) }),
    );
  }

  /** The answer to the call that made it. */
  created(): CreatedTask {
    return { ...this.#info(), resultType: 'task' };
  }

  /** The answer to `tasks/get`. */
  detailed(): TaskInfo {
    const questions =
      this.#status === 'input_required' ? { inputRequests: { ...this.#questions } } : {};
    return { ...this.#info(), ...questions, ...this.#outcome };
  }

  /** Takes answers; those that nobody asked for are dropped. */
  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, answer] of Object.entries(answers)) {
      if (this.#questions[key] === undefined) continue;
      this.#answers[key] = answer;
      delete this.#questions[key];
    }
    if (this.#status !== 'input_required' || Object.keys(this.#questions).length > 0) return;
    this.#enter('working');
    this.#resume();
  }

  /** Ends it, unless it is at its end. */
  cancel(): void {
    this.#end('cancelled', undefined);
    this.#abort.abort();
  }

  #ask(questions: InputRequests): Promise<Readonly<Record<string, unknown>>> {
    this.#questions = { ...questions };
    this.#enter('input_required');
    return new Promise((resolve) => {
      this.#resume = () => resolve(this.#answers);
    });
  }

  #end(status: Status, outcome: Outcome | undefined): void {
    if (this.#status !== 'working' && this.#status !== 'input_required') return;
    this.#outcome = outcome;
    this.#enter(status);
  }

  #enter(status: Status): void {
    this.#status = status;
    this.#lastUpdatedAt = new Date().toISOString();
  }

  #info(): TaskInfo {
    return {
      taskId: this.#taskId,
      status: this.#status,
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#lastUpdatedAt,
      ttlMs: TTL_MS,
      pollIntervalMs: POLL_MS,
    };
  }
}

/** An error as a failed task carries it. */
function describe(error: unknown): { code: number; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  return { code: error instanceof ProtocolError ? error.code : -32_603, message };
}
