// Counts the requests of one endpoint, for metrics, the audit log and the cap of a principal. Bound label
// sets are kept, since making one costs more than using it.
import type { GatewayError } from '../base/errors.ts';
import { type HeldBytes, type HeldClient, type HeldOwner, UNBOUNDED } from '../base/held-bytes.ts';
import { methodLabel } from '../mcp/methods.ts';
import { LISTEN } from '../mcp/modern-methods.ts';
import type { AuditedCall, AuditLog } from './audit.ts';
import type { Metrics, RequestOutcome } from './metrics.ts';
import type { PrincipalLoads } from './principal-loads.ts';

interface MethodMeter {
  readonly outcomes: Record<RequestOutcome, { inc(): void }>;
  readonly duration: { observe(seconds: number): void };
}

/** Who else is told of requests. */
export interface RequestWatchers {
  readonly audit: AuditLog | undefined;
  /** Whether nothing may happen that can't be written there, as nobody could read of it later. */
  readonly isAuditRequired?: boolean;
  /** Where each principal counts; undefined while all clients are one. */
  readonly loads: PrincipalLoads | undefined;
  /** Where what is held for each counts. Absent where nobody else holds anything. */
  readonly held?: HeldBytes;
  /** Told of what should not have happened; clients are not told what it was. */
  readonly broke?: (failure: GatewayError) => void;
}

const NOBODY: RequestWatchers = { audit: undefined, loads: undefined };

/** What is measured of every request. */
export class RequestMeter {
  readonly #watchers: RequestWatchers;
  readonly #metrics: Metrics;
  readonly #endpoint: string;
  readonly #server: string;
  readonly #methods = new Map<string, MethodMeter>();

  constructor(
    metrics: Metrics,
    labels: { endpoint: string; server: string },
    watchers: RequestWatchers = NOBODY,
  ) {
    this.#watchers = watchers;
    this.#metrics = metrics;
    this.#endpoint = labels.endpoint;
    this.#server = labels.server;
  }

  /** Whether `audited` is to be told of calls that end. */
  get isAudited(): boolean {
    return this.#watchers.audit !== undefined;
  }

  /** Why nothing can be taken now (docs/reliability.md#f56); undefined while all is well. */
  get refusal(): GatewayError | undefined {
    const { audit, isAuditRequired } = this.#watchers;
    return isAuditRequired === true ? audit?.refusal() : undefined;
  }

  /** Writes a call into the audit log. */
  audited(call: Omit<AuditedCall, 'endpoint' | 'server'>): void {
    this.#watchers.audit?.call({ ...call, endpoint: this.#endpoint, server: this.#server });
  }

  /** A request of a principal begins; `ended` follows. */
  begun(principalKey: string): void {
    this.#watchers.loads?.begin(principalKey);
  }

  ended(principalKey: string): void {
    this.#watchers.loads?.end(principalKey);
  }

  /** Whether a principal has as many requests in flight as it may have. */
  isFull(principalKey: string): boolean {
    return this.#watchers.loads?.isFull(principalKey) ?? false;
  }

  /** Whether a principal has more requests in flight than it may have, those just begun included. */
  isOver(principalKey: string): boolean {
    return this.#watchers.loads?.isOver(principalKey) ?? false;
  }

  /** Where what is held for a principal counts. To be looked up each time. */
  heldFor(principal: HeldClient): HeldOwner {
    return (this.#watchers.held ?? UNBOUNDED).client(principal);
  }

  /** A request was refused, since there is no room for it. */
  refusedForRoom(): void {
    this.#metrics.rejected.inc({ reason: 'held_bytes' });
  }

  /** A request could not be carried. */
  failed(failure: GatewayError): void {
    if (failure.reason === 'internal') this.#watchers.broke?.(failure);
  }

  /** A request ended. */
  record(method: string, outcome: RequestOutcome, seconds: number): void {
    const label = methodLabel(method);
    let meter = this.#methods.get(label);
    if (meter === undefined) {
      meter = this.#create(label);
      this.#methods.set(label, meter);
    }
    meter.outcomes[outcome].inc();
    // A stream lasts as long as its client likes.
    if (method !== LISTEN) meter.duration.observe(seconds);
  }

  #create(method: string): MethodMeter {
    const count = (outcome: RequestOutcome): { inc(): void } =>
      this.#metrics.requests.labels(this.#endpoint, this.#server, method, outcome);
    return {
      outcomes: {
        ok: count('ok'),
        error: count('error'),
        failed: count('failed'),
        cancelled: count('cancelled'),
      },
      duration: this.#metrics.requestDuration.labels(this.#server, method),
    };
  }
}
