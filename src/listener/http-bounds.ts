// How much time and how many connections clients of the public listener get before anything is known of
// them (reliability.md A11, A12). The same for everybody: a value of a test's own shows that they hold.

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
  /** Open at once. More are closed at once: Node itself would take them until there are no descriptors. */
  readonly connections: number;
}

export const HTTP_BOUNDS: HttpBounds = {
  headersMs: 10_000,
  requestMs: 30_000,
  sweepMs: 5_000,
  keepAliveMs: 75_000,
  connections: 20_000,
};
