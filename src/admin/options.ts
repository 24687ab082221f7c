// What a user may say about the admin listener (design.md 3.2 `admin:`).

/** The listener of /metrics, /healthz and /readyz. */
export interface AdminOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}
