// Whether a call goes to an instance now, waits, or is refused, and with which words
// (docs/protocol.md#attribution). Owns the calls that wait.
import { monotonicMs } from '../base/clock.ts';
import { type FailureReason, GatewayError } from '../base/errors.ts';
import type { InteractiveTools } from '../mux/interactive-tools.ts';
import type { Mux } from '../mux/mux.ts';
import type { Downstream } from '../ports/downstream.ts';
import { isAnonymous, quotaKeyOf } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import type { InstanceState } from './instance-state.ts';
import type { ServerOptions } from './options.ts';
import { WaitingCalls } from './waiting-calls.ts';

/**
 * How long a tool waits for others' server requests that was only near one of them, and asked
 * nothing before. A look more, and it has been a second.
 */
const SUSPECT_MS = 800;

/** What admission looks at. */
export interface AdmissionContext {
  readonly options: ServerOptions;
  readonly tools: InteractiveTools;
  state(): InstanceState;
  /** Undefined while there is no connection. */
  mux(): Mux | undefined;
  /** Whether callers are refused at once, since the server keeps failing. */
  failsFast(): boolean;
  /** Why the server is not there. */
  lastFailure(): string;
  /** How long until it is started again, in milliseconds; 0 while nothing has to be waited for. */
  startsInMs(): number;
  /** Starts the server if nothing else will. */
  start(): void;
}

/** The door of one instance. */
export class Admission {
  readonly #context: AdmissionContext;
  readonly #waiting: WaitingCalls;
  /** Calls that one principal may have at a shared server, so that there are places for others. */
  readonly #share: number;
  #closedBecause: 'server_unavailable' | 'draining' = 'server_unavailable';

  constructor(context: AdmissionContext) {
    this.#context = context;
    const { queue, inFlight } = context.options.limits;
    const isShared = context.options.sharing === 'shared';
    this.#share = isShared ? inFlight - Math.floor(inFlight / 4) : Number.POSITIVE_INFINITY;
    this.#waiting = new WaitingCalls(queue, {
      expired: (request) => this.#waitedTooLong(request),
      displaced: (request) => request.settle(this.#overloaded()),
      passed: () => this.pump(),
    });
  }

  /** Calls that wait. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** Whether calls of tools that ask wait until `client` has answered. */
  isAwaited(client: Downstream): boolean {
    const { tools } = this.#context;
    return this.#waiting.some(
      (request) => request.client !== client && tools.match(request.frame) !== undefined,
    );
  }

  /** Sends a call on, or lets it wait. */
  admit(request: Request): void {
    const isFree = this.#waiting.size === 0 && this.#hasRoom();
    if (isFree && this.#canGo(request, this.#overQuota())) {
      this.#context.mux()?.dispatch(request);
      return;
    }
    this.#wait(request);
    // Those before it may wait for something that it needs not.
    this.pump();
  }

  /** Sends on what waits, as far as there is room. */
  pump(): void {
    while (this.#waiting.size > 0 && this.#hasRoom()) {
      const overQuota = this.#overQuota();
      const request = this.#waiting.take((candidate, sinceMs) =>
        this.#canGo(candidate, overQuota, sinceMs),
      );
      if (request === undefined) return;
      this.#context.mux()?.dispatch(request);
    }
  }

  /** Refuses everything that waits. */
  refuseWaiting(failure = this.unavailable()): void {
    for (const request of this.#waiting.clear()) request.settle(failure);
  }

  /** The server is started again after its backoff: refuses everything that can't wait for that. */
  refuseLate(): void {
    const failure = this.unavailable();
    const startMs = monotonicMs() + this.#context.startsInMs();
    for (const request of this.#waiting.clear(startMs)) request.settle(failure);
  }

  /** Refuses everything that waits, since the server is being stopped. */
  close(reason: 'server_unavailable' | 'draining'): void {
    this.#closedBecause = reason;
    const failure = this.stopped();
    for (const request of this.#waiting.clear()) request.settle(failure);
  }

  /** The error of callers who come too late. */
  stopped(): GatewayError {
    return this.#failure(this.#closedBecause, 'is being stopped.');
  }

  /** The error of callers whose time ran out while the server starts. */
  starting(): GatewayError {
    return this.#failure('server_starting', 'is still starting.');
  }

  /** The error of callers who find the server gone. */
  unavailable(): GatewayError {
    const failure = this.#context.lastFailure();
    // A whole sentence behind a label for metrics: the log would not say more.
    const said = /^(?:cannot_start|refused): (it .*)$/s.exec(failure)?.[1];
    if (said !== undefined) return this.#failure('server_unavailable', `is not available: ${said}`);
    const why = failure.replace(/^cannot_start: |\.$/g, '');
    return this.#failure('server_unavailable', `is not available (${why}); see the gateway's log.`);
  }

  /**
   * The quota key of the principal that has as many calls in flight as one may have, if any: at most one has, and
   * nobody is looked for while there is room for everybody. Without auth all clients are one.
   */
  #overQuota(): string | undefined {
    const mux = this.#context.mux();
    if (mux === undefined || mux.inFlight < this.#share) return undefined;
    const counts = new Map<string, number>();
    for (const { request, abandonedAtMs } of mux.calls()) {
      if (request === undefined || abandonedAtMs !== undefined) continue;
      const { principal } = request.client;
      if (isAnonymous(principal)) return undefined;
      const key = quotaKeyOf(principal);
      const count = (counts.get(key) ?? 0) + 1;
      if (count >= this.#share) return key;
      counts.set(key, count);
    }
    return undefined;
  }

  /** Whether the server takes any call at all. */
  #hasRoom(): boolean {
    const mux = this.#context.mux();
    if (mux === undefined || this.#context.state() !== 'ready') return false;
    return mux.isWritable && mux.inFlight < this.#context.options.limits.inFlight;
  }

  /**
   * @param overQuota who has as many calls in flight as one may have
   * @param sinceMs since when it waits; absent: not yet
   */
  #canGo(request: Request, overQuota: string | undefined, sinceMs?: number): boolean {
    const { tools } = this.#context;
    if (overQuota !== undefined && quotaKeyOf(request.client.principal) === overQuota) return false;
    if (this.#context.mux()?.hasInteractiveCallOfOthers(request.client) !== true) return true;
    const tool = tools.match(request.frame);
    if (tool === undefined) return true;
    const hasWaited = sinceMs !== undefined && monotonicMs() - sinceMs >= SUSPECT_MS;
    return hasWaited && tools.isHardlySuspected(tool);
  }

  #wait(request: Request): void {
    const state = this.#context.state();
    if (state === 'closed') {
      request.settle(this.stopped());
      return;
    }
    const limitMs = this.#waitLimitMs(request);
    const isHopeless = this.#context.failsFast() || this.#context.startsInMs() >= limitMs;
    if (isHopeless && state !== 'ready') {
      request.settle(this.unavailable());
      return;
    }
    if (this.#waiting.add(request, limitMs)) {
      this.#context.start();
      return;
    }
    request.settle(this.#overloaded());
  }

  #overloaded(): GatewayError {
    const { queue } = this.#context.options.limits;
    return this.#failure(
      'overloaded',
      `already has ${queue} calls in its queue (limits.queue). Retry later.`,
    );
  }

  // Who waits for another client's server request to be answered waits for a human being, who has
  // the time of a call for it, and then for the call to end.
  #waitLimitMs(request: Request): number {
    const { options, tools } = this.#context;
    const { timeouts } = options;
    const state = this.#context.state();
    if (state === 'idle' || state === 'starting') return timeouts.start;
    const isForPerson = state === 'ready' && tools.match(request.frame) !== undefined;
    return isForPerson ? Math.min(2 * timeouts.request, timeouts.requestMax) : timeouts.queue;
  }

  #waitedTooLong(request: Request): void {
    switch (this.#context.state()) {
      case 'ready':
        request.settle(this.#failure('queue_timeout', this.#whyItWaited(request)));
        return;
      case 'starting':
        request.settle(this.starting());
        return;
      default:
        request.settle(this.unavailable());
    }
  }

  #whyItWaited({ frame, client }: Request): string {
    const { tools, mux } = this.#context;
    const tool = tools.match(frame);
    if (tool !== undefined && mux()?.hasInteractiveCallOfOthers(client) === true) {
      return (
        `could not take the call: tool "${tool}" is interactive, and another client is using an ` +
        'interactive tool, maybe waiting for its user to answer. ' +
        'Retry later, or set sharing: session for this server.'
      );
    }
    if (mux()?.isWritable === false) {
      return 'was too busy to read the call within timeouts.queue: it has not read earlier messages. Retry later.';
    }
    const overQuota = this.#overQuota();
    if (overQuota !== undefined && quotaKeyOf(client.principal) === overQuota) {
      return `already has ${this.#share} calls of yours in flight, the limit for one client. Retry when one of them completes.`;
    }
    return 'was too busy to take the call within timeouts.queue. Retry later, or raise replicas or limits.inFlight.';
  }

  #failure(reason: FailureReason, what: string): GatewayError {
    const server = this.#context.options.name;
    return new GatewayError(reason, `Server "${server}" ${what}`, { outcome: 'not_sent', server });
  }
}
