// Finds out whether a server that refused something still serves the session: by a request that every
// server answers. Error codes and texts alone don't tell: a tool may have sessions of its own.
import { type BackoffOptions, backoffMs } from '../../base/backoff.ts';
import { monotonicMs, pause } from '../../base/clock.ts';
import { METHOD_NOT_FOUND } from '../../jsonrpc/error.ts';
import { errorCodeOf } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { callMessage } from '../../jsonrpc/serialize.ts';
import { PING } from '../../mcp/methods.ts';
import { DISCOVER } from '../../mcp/modern-methods.ts';
import type { RequestFailure } from '../../ports/channel.ts';
import { HttpFailure } from '../credentials/http-failure.ts';
import type { HttpAnswer } from '../remote/http-endpoint.ts';
import { hintsAtLostSession, refusalOf } from '../remote/refusals.ts';
import { envelopeOf, type HttpLink, lastMessage } from './link.ts';
import { Outgoing } from './outgoing.ts';

/** No id of the connection's own, which are numbers. */
const ID = 'sluice-check';
const CHECK_MS = 5_000;
const MAX_BYTES = 64 * 1024;
const TOO_MANY_REQUESTS = 429;
/** Refusals in a row after which a server counts as down. */
const MAX_REFUSALS = 3;
const BACKOFF: BackoffOptions = { firstMs: 500, capMs: 30_000 };
/** A server that has just answered is not asked again, however often it refuses something. */
const FRESH_MS = 1_000;

/** Whether the server serves; if not, why. */
export type Verdict = 'serves' | 'session_gone' | RequestFailure;

/** Whose server it is. */
export interface CheckOwner {
  /** Whether calls are on their way that were sent before `about`: the server may be at work on them. */
  hasOlderCalls(about: Outgoing): boolean;
  /** The server does not know the session any more. */
  sessionGone(): void;
  /** The server refuses everything. */
  refuses(failure: RequestFailure): void;
}

/** Checks one server. */
export class ServerCheck {
  readonly #link: HttpLink;
  readonly #owner: CheckOwner;
  readonly #abort = new AbortController();
  #asking: Promise<Verdict> | undefined;
  #isWatching = false;
  #servedAtMs = Number.NEGATIVE_INFINITY;

  constructor(link: HttpLink, owner: CheckOwner) {
    this.#link = link;
    this.#owner = owner;
  }

  close(): void {
    this.#abort.abort();
  }

  /**
   * Asks once; who wants to know at the same time is given the same answer.
   * @param about what was refused
   */
  ask(about: Outgoing): Promise<Verdict> {
    this.#asking ??= this.#ask(about).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /**
   * Something was refused, and maybe everything is: asks until the server serves, or is known not to.
   * @param about what was refused
   */
  async watch(about: Outgoing): Promise<void> {
    if (this.#isWatching || monotonicMs() - this.#servedAtMs < FRESH_MS) return;
    this.#isWatching = true;
    let refusals = 0;
    do {
      const verdict = await this.ask(about);
      if (this.#abort.signal.aborted || this.#isDecided(verdict, about, ++refusals)) break;
    } while (await pause(backoffMs(refusals, BACKOFF), this.#abort.signal));
    this.#isWatching = false;
  }

  #isDecided(verdict: Verdict, about: Outgoing, refusals: number): boolean {
    if (verdict === 'serves') return true;
    if (verdict === 'session_gone') {
      this.#owner.sessionGone();
      return true;
    }
    if (refusals < MAX_REFUSALS || this.#owner.hasOlderCalls(about)) return false;
    this.#owner.refuses(verdict);
    return true;
  }

  async #ask(about: Outgoing): Promise<Verdict> {
    const message = new Outgoing(
      about.isModern
        ? callMessage(DISCOVER, { _meta: envelopeOf(about) }, ID)
        : callMessage(PING, undefined, ID),
    );
    const { signal } = this.#abort;
    let verdict: Verdict;
    try {
      const { from } = about;
      const answer = await this.#link.requestOwn(message, CHECK_MS, { from, signal });
      verdict = answer.status > 299 ? await refusedWith(answer) : await answeredWith(answer);
      if (verdict === 'session_gone' && about.isModern) verdict = UNANSWERED;
    } catch (error) {
      verdict = error instanceof HttpFailure ? error.failure : UNANSWERED;
    }
    if (verdict === 'serves') this.#servedAtMs = monotonicMs();
    return verdict;
  }
}

async function refusedWith(answer: HttpAnswer): Promise<Verdict> {
  // It is there, and says when it takes more.
  if (answer.status === TOO_MANY_REQUESTS) {
    answer.discard();
    return 'serves';
  }
  const { saysSessionIsGone, isAboutSession, isNoEvidence, error, failure } = await refusalOf(
    answer,
    undefined,
    MAX_BYTES,
  );
  // One that has no `ping` has read it.
  if (error !== undefined && errorCodeOf(error) === METHOD_NOT_FOUND) return 'serves';
  if (saysSessionIsGone || isAboutSession) return 'session_gone';
  return error === undefined || isNoEvidence ? failure : 'serves';
}

async function answeredWith(answer: HttpAnswer): Promise<Verdict> {
  const message = await lastMessage(answer, MAX_BYTES);
  if (message === undefined) return UNANSWERED;
  if (hintsAtLostSession(message)) return 'session_gone';
  return scan(message).kind === 'response' ? 'serves' : UNANSWERED;
}

const UNANSWERED: RequestFailure = {
  reason: 'server_protocol_error',
  outcome: 'unknown',
  what: 'answers with nothing that is an MCP answer.',
};
