// Checks whether a server that refused something still serves the session, by a request that every server
// answers. Error codes and texts alone are not enough: a tool may have sessions of its own.
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

/** Not an id of the mux, because those are numbers. */
const ID = 'sluice-check';
const CHECK_MS = 5_000;
const MAX_BYTES = 64 * 1024;
const TOO_MANY_REQUESTS = 429;
/** After so many refusals in a row a server counts as down. */
const MAX_REFUSALS = 3;
const BACKOFF: BackoffOptions = { firstMs: 500, capMs: 30_000 };
/** If a server has just answered, it is not checked again, even if it refuses something. */
const FRESH_MS = 1_000;

/** Whether the server serves the session; if not, why. */
export type Verdict = 'serves' | 'session_gone' | RequestFailure;

/** The owner of the server. */
export interface CheckOwner {
  /** Whether calls are in flight that were sent before `about`: the server may be working on them. */
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
   * Checks once. Simultaneous callers share one result.
   * @param about the request that was refused
   */
  ask(about: Outgoing): Promise<Verdict> {
    this.#asking ??= this.#ask(about).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /**
   * Something was refused, and perhaps everything is: checks until the server serves, or is known not to.
   * @param about the request that was refused
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
  // The server is there, and says when it accepts requests again.
  if (answer.status === TOO_MANY_REQUESTS) {
    answer.discard();
    return 'serves';
  }
  const { saysSessionIsGone, isAboutSession, isNoEvidence, error, failure } = await refusalOf(
    answer,
    undefined,
    MAX_BYTES,
  );
  // A server without `ping` has still read the request.
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
  what: 'does not answer like an MCP server.',
};
