// What the gateway and its validation process say to each other: one job at a time, one answer each.

/** One reason why arguments don't fit. */
export interface ArgumentError {
  /** JSON pointer into the arguments; empty for the arguments as a whole. */
  readonly path: string;
  /** The keyword of the schema. */
  readonly rule: string;
  /** What would be right; never repeats a value. */
  readonly message: string;
}

/** A check of one call. */
export interface ValidationJob {
  /** Names the schema. */
  readonly digest: string;
  /** JSON text; left out where the process should have it. */
  readonly schema: Uint8Array | undefined;
  /** JSON text. */
  readonly args: Uint8Array;
}

/** What came out of a job. */
export type JobOutcome =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly errors: readonly ArgumentError[] }
  /** The schema can't be used. */
  | { readonly kind: 'unusable'; readonly reason: string }
  /** The process doesn't have the schema: send it. */
  | { readonly kind: 'missing' }
  /** The check of these arguments failed. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The check needed more stack, memory or time than it may have. */
  | { readonly kind: 'overrun'; readonly what: 'stack' | 'memory' | 'time' };

/** What the process says of a job. */
export interface JobReport {
  readonly outcome: JobOutcome;
  /** How much the job cost, however long it took on a busy machine. */
  readonly cpuMs: number;
}

/** What the process says first. */
export const READY = 'ready';

/**
 * Where a module of this folder is, as source or as what is built of it.
 * @param url `import.meta.url` of the caller
 * @param name without its ending
 */
export function sourceBeside(url: string, name: string): URL {
  return new URL(`./${name}${url.endsWith('.ts') ? '.ts' : '.js'}`, url);
}
