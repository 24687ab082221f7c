// The messages between the gateway and its validation processes: one job at a time, with one report for each.

/** One reason why arguments are not valid. */
export interface ArgumentError {
  /** A JSON pointer into the arguments; empty for all arguments. */
  readonly path: string;
  /** The keyword of the schema. */
  readonly rule: string;
  /** What would be right; never contains a value of the arguments. */
  readonly message: string;
}

/** A check of one call. */
export interface ValidationJob {
  /** Identifies the schema. */
  readonly digest: string;
  /** JSON text; left out if the process should have it already. */
  readonly schema: Uint8Array | undefined;
  /** JSON text. */
  readonly args: Uint8Array;
}

/** The result of a job. */
export type JobOutcome =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly errors: readonly ArgumentError[] }
  /** The schema can't be used. */
  | { readonly kind: 'unusable'; readonly reason: string }
  /** The process does not have the schema: send it. */
  | { readonly kind: 'missing' }
  /** The check of these arguments threw an error. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The check needed too much stack, memory or time. */
  | { readonly kind: 'overrun'; readonly what: 'stack' | 'memory' | 'time' };

/** The answer of the process. */
export interface JobReport {
  readonly outcome: JobOutcome;
  /** CPU time of the job, which does not depend on how busy the machine is. */
  readonly cpuMs: number;
}

/** The first message of the process. */
export const READY = 'ready';

/**
 * The URL of a module in this folder, as source or as built file.
 * @param url `import.meta.url` of the caller
 * @param name without its extension
 */
export function sourceBeside(url: string, name: string): URL {
  return new URL(`./${name}${url.endsWith('.ts') ? '.ts' : '.js'}`, url);
}
