// How much time and how many connections clients of the public listener get before anything is known
// of them (docs/reliability.md#a11, #a12). The same for everybody: a value of a test's own shows that
// they hold.

/** Bounds of the HTTP server itself. */
export interface HttpBounds {
  /** From the connection, or the end of the request before, to the end of the headers. */
  readonly headersMs: number;
  /** To the end of the body. */
  readonly requestMs: number;
  /** How often connections are looked at; Node would do it every 30 s. */
  readonly sweepMs: number;
  /** Without a request. */
  readonly keepAliveMs: number;
  /** Open at once, where the process may have as many descriptors. */
  readonly connections: number;
}

export const HTTP_BOUNDS: HttpBounds = {
  headersMs: 10_000,
  requestMs: 30_000,
  sweepMs: 5_000,
  keepAliveMs: 75_000,
  connections: 20_000,
};

/** Descriptors of Node itself, the listeners, logs. */
const OWN_DESCRIPTORS = 32;
/** For processes, remote servers, the admin listener, files: half of what there is, up to this many. */
const MAX_OTHER_DESCRIPTORS = 2_048;
const MIN_CONNECTIONS = 4;

/** Connections for which there are descriptors, of as many as the process may have. */
export function connectionsWithin(descriptors: number): number {
  if (!Number.isFinite(descriptors)) return Number.POSITIVE_INFINITY;
  const left = descriptors - OWN_DESCRIPTORS;
  const others = Math.min(Math.floor(left / 2), MAX_OTHER_DESCRIPTORS);
  return Math.max(left - others, MIN_CONNECTIONS);
}
