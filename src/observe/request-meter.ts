// Counts the requests of one endpoint, for metrics, the audit log, and the limit of a principal. Metrics with
// their labels are kept, because finding them costs more than using them.
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

/** Others that follow requests. */
export interface RequestWatchers {
  readonly audit: AuditLog | undefined;
  /** Whether calls are refused that can't be logged. */
  readonly isAuditRequired?: boolean;
  /** Counts calls of principals; undefined while all clients are one principal. */
  readonly loads: PrincipalLoads | undefined;
  /** Counts held bytes. Absent if there is only one client. */
  readonly held?: HeldBytes;
  /** Called for unexpected errors, whose text clients don't get. */
  readonly broke?: (failure: GatewayError) => void;
}

const NOBODY: RequestWatchers = { audit: undefined, loads: undefined };

/** Measures all requests of an endpoint. */
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

  /** Whether `audited` should be called for calls that end. */
  get isAudited(): boolean {
    return this.#watchers.audit !== undefined;
  }

  /** Why no call can be accepted now (docs/reliability.md#f56); undefined if calls can be. */
  get refusal(): GatewayError | undefined {
    const { audit, isAuditRequired } = this.#watchers;
    return isAuditRequired === true ? audit?.refusal() : undefined;
  }

  /** Writes a call to the audit log. */
  audited(call: Omit<AuditedCall, 'endpoint' | 'server'>): void {
    this.#watchers.audit?.call({ ...call, endpoint: this.#endpoint, server: this.#server });
  }

  /** A request of a principal begins. `ended` must follow. */
  begun(principalKey: string): void {
    this.#watchers.loads?.begin(principalKey);
  }

  ended(principalKey: string): void {
    this.#watchers.loads?.end(principalKey);
  }

  /** Whether a principal has reached its limit of requests in flight. */
  isFull(principalKey: string): boolean {
    return this.#watchers.loads?.isFull(principalKey) ?? false;
  }

  /** Whether a principal is above its limit of requests in flight, including those that just began. */
  isOver(principalKey: string): boolean {
    return this.#watchers.loads?.isOver(principalKey) ?? false;
  }

  /** The owner of a principal's held bytes. Must be looked up each time. */
  heldFor(principal: HeldClient): HeldOwner {
    return (this.#watchers.held ?? UNBOUNDED).client(principal);
  }

  /** A request was refused because there is no room for it. */
  refusedForRoom(): void {
    this.#metrics.rejected.inc({ reason: 'held_bytes' });
  }

  /** The gateway failed a request. */
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
    // A stream lasts as long as the client wants.
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
