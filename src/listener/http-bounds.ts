// Limits of time and connections for clients of the public listener, before anything is known about them
// (docs/reliability.md#a11, #a12). Not configurable; tests use other values.

/** Limits of the HTTP server. */
export interface HttpBounds {
  /** Time for the headers, from the connection or the end of the previous request. */
  readonly headersMs: number;
  /** Time until the end of the body. */
  readonly requestMs: number;
  /** How often connections are checked. The default of Node is 30 s. */
  readonly sweepMs: number;
  /** Time without a request. */
  readonly keepAliveMs: number;
  /** The most open connections, if there are enough file descriptors. */
  readonly connections: number;
}

export const HTTP_BOUNDS: HttpBounds = {
  headersMs: 10_000,
  requestMs: 30_000,
  sweepMs: 5_000,
  keepAliveMs: 75_000,
  connections: 20_000,
};

/** File descriptors of Node itself, the listeners and logs. */
const OWN_DESCRIPTORS = 32;
/**
 * File descriptors for processes, remote servers, the admin listener and files: half of all, at most this
 * many.
 */
const MAX_OTHER_DESCRIPTORS = 2_048;
const MIN_CONNECTIONS = 4;

/**
 * The number of connections for which there are file descriptors.
 * @param descriptors the most that the process may have
 */
export function connectionsWithin(descriptors: number): number {
  if (!Number.isFinite(descriptors)) return Number.POSITIVE_INFINITY;
  const left = descriptors - OWN_DESCRIPTORS;
  const others = Math.min(Math.floor(left / 2), MAX_OTHER_DESCRIPTORS);
  return Math.max(left - others, MIN_CONNECTIONS);
}
