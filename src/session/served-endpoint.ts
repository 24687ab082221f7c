// An endpoint as its clients have it, for as long as there is one under its path: what is behind it may be
// replaced while they are there (docs/operations.md#reload). Whoever serves clients keeps this, and asks
// it for the endpoint each time.
import { Drain } from '../base/drain.ts';
import type { GatewayError } from '../base/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RequestMeter, type RequestWatchers } from '../observe/request-meter.ts';
import type { Endpoint } from '../ports/dispatcher.ts';

/** One endpoint as the transports see it. */
export class ServedEndpoint {
  /** Never changes. */
  readonly name: string;
  /** Changed by `replace` only. */
  endpoint: Endpoint;
  /** Changed by `replace` only. */
  meter: RequestMeter;
  /** Whether there is nothing under its path any more, whatever of it still goes on. Changed by `retire` only. */
  isGone = false;
  /** While it is on, only messages that continue a call are accepted. */
  readonly drain: Drain;
  readonly #metrics: Metrics;
  readonly #watchers: RequestWatchers | undefined;

  /**
   * @param watchers who else is told of its requests
   * @param gateway the drain of the gateway
   */
  constructor(endpoint: Endpoint, metrics: Metrics, watchers?: RequestWatchers, gateway?: Drain) {
    this.name = endpoint.name;
    this.endpoint = endpoint;
    this.#metrics = metrics;
    this.#watchers = watchers;
    this.meter = this.#meterOf(endpoint);
    this.drain = new Drain(gateway);
  }

  /** Why new work is not taken. */
  get refusal(): GatewayError {
    return this.isGone ? FAILURES.endpointGone() : FAILURES.stopping();
  }

  /** From now on clients have another endpoint of the same name. */
  replace(endpoint: Endpoint): void {
    const isSameLabel = endpoint.server === this.endpoint.server;
    this.endpoint = endpoint;
    if (!isSameLabel) this.meter = this.#meterOf(endpoint);
  }

  /** There is none any more: what was begun goes on. */
  retire(): void {
    this.isGone = true;
    this.drain.begin();
  }

  #meterOf({ name, server }: Endpoint): RequestMeter {
    return new RequestMeter(this.#metrics, { endpoint: name, server }, this.#watchers);
  }
}
