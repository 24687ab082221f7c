// What a user may say about one server (design.md 3.2 `servers:`), after load: durations in
// milliseconds, sizes in bytes, every default filled in.

/** Which clients share one instance (design.md 5.1). */
export type Sharing = 'shared' | 'principal' | 'session';

/** Limits of every wait on a server, all in milliseconds. */
export interface ServerTimeouts {
  /** From spawn to the end of the handshake. */
  readonly startMs: number;
  /** One call without an answer or progress. */
  readonly requestMs: number;
  /** One call in all, whatever its progress. */
  readonly requestMaxMs: number;
  /** How long a call may wait in the server's queue. */
  readonly queueMs: number;
  /** Without a call for this long the process is stopped; 0 is never. */
  readonly idleMs: number;
  /** Between TERM and KILL when the process is stopped. */
  readonly stopMs: number;
}

/** Bounds on what is held for a server. */
export interface ServerLimits {
  /** Calls that one instance works on at a time. */
  readonly inFlight: number;
  /** Calls that wait when an instance is full. */
  readonly queue: number;
  /** The largest message that is accepted from the server, in bytes. */
  readonly messageBytes: number;
}

/** A static root that the gateway answers `roots/list` with. */
export interface RootOptions {
  readonly uri: string;
  readonly name?: string;
}

/** One entry under `servers:` that is a child process on stdio. */
export interface ServerOptions {
  readonly name: string;
  /** `jsonrpc` skips MCP: any JSON-RPC 2.0 server. */
  readonly protocol: 'mcp' | 'jsonrpc';
  /** `content-length` is what language servers use; only with protocol jsonrpc. */
  readonly framing: 'newline' | 'content-length';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of the gateway's own variables that the child gets besides the minimal set. */
  readonly inheritEnv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  readonly sharing: Sharing;
  /** Instances of a shared server. */
  readonly replicas: number;
  readonly start: 'eager' | 'lazy';
  readonly roots: readonly RootOptions[];
  readonly era: 'auto' | 'legacy' | 'modern';
  readonly timeouts: ServerTimeouts;
  readonly limits: ServerLimits;
}

/** Caps over all private instances (`principal` and `session` sharing) of all servers. */
export interface ProcessOptions {
  readonly max: number;
  readonly maxPerPrincipal: number;
  /** Processes that start at once, over all servers. */
  readonly maxStarting: number;
}
