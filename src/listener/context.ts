// What every transport of the public listener is given.
import type { IncomingMessage } from 'node:http';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RequestMeter } from '../observe/request-meter.ts';
import type { Endpoint } from '../ports/dispatcher.ts';
import type { Principal } from '../ports/principal.ts';
import type { ModernRequests } from '../session/modern-requests.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { ListenOptions } from './options.ts';

/** Shared by all transports. */
export interface ListenerContext {
  readonly options: ListenOptions;
  readonly sessions: SessionStore;
  /** Modern requests in flight. */
  readonly modern: ModernRequests;
  readonly heartbeat: Heartbeat;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Who sends a request. */
  authenticate(request: IncomingMessage): Principal;
  readonly isDraining: () => boolean;
}

/** One endpoint as the transports see it. */
export interface ServedEndpoint {
  readonly endpoint: Endpoint;
  readonly meter: RequestMeter;
}

/** Pairs an endpoint with its meter. */
export function servedEndpoint(endpoint: Endpoint, metrics: Metrics): ServedEndpoint {
  const meter = new RequestMeter(metrics, { endpoint: endpoint.name, server: endpoint.server });
  return { endpoint, meter };
}
