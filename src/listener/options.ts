// What a user may say about the public listener (design.md 3.2 `listen:`) and its sessions.

/** The public listener. */
export interface ListenOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Host names that are served besides loopback names and `host`. */
  readonly allowedHosts: readonly string[];
  /** Exact origins, `https://app.example`. */
  readonly allowedOrigins: readonly string[];
  /** Largest request body and WebSocket message, in bytes. */
  readonly maxBodyBytes: number;
  /** The address that clients use, when a proxy stands in front; its path is put before emitted paths. */
  readonly publicUrl: string | undefined;
}

/** Client sessions. */
export interface SessionOptions {
  /** A session with no request and no open stream for this long is ended. */
  readonly idleMs: number;
  /** Open sessions in all. */
  readonly max: number;
}
