// Counts the requests of one endpoint. Bound label sets are kept, since making one costs more than
// using it.
import { methodLabel } from '../mcp/methods.ts';
import type { Metrics, RequestOutcome } from './metrics.ts';

interface MethodMeter {
  readonly outcomes: Record<RequestOutcome, { inc(): void }>;
  readonly duration: { observe(seconds: number): void };
}

/** What is measured of every request. */
export class RequestMeter {
  readonly #metrics: Metrics;
  readonly #endpoint: string;
  readonly #server: string;
  readonly #methods = new Map<string, MethodMeter>();

  constructor(metrics: Metrics, labels: { endpoint: string; server: string }) {
    this.#metrics = metrics;
    this.#endpoint = labels.endpoint;
    this.#server = labels.server;
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
    meter.duration.observe(seconds);
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
