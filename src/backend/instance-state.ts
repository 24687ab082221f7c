// The states of an instance (docs/architecture.md, Life of an instance).

/**
 * idle: no process, the next call starts one. starting: spawn and handshake. ready: serves.
 * backoff: ended, the next start is due later. closed: over for good.
 */
export type InstanceState = 'idle' | 'starting' | 'ready' | 'backoff' | 'closed';
