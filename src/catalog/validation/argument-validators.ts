// Whether the arguments of a tool call fit the schema that the server published. Schemas come from
// servers that nobody vouches for, so they are compiled and run in a process with limits, and one that
// can't be used means that nothing is checked: it is told once and never refuses a call.
import { createHash } from 'node:crypto';
import type { ArgumentError } from './jobs.ts';
import { MAX_SCHEMA_BYTES } from './schema-bounds.ts';
import { ValidationLink } from './validation-link.ts';

export type { ArgumentError } from './jobs.ts';

/** How long one check may take. */
const LIMIT_MS = 1_000;
/** Checks without an end after which a schema is given up: it is to blame, not the arguments. */
const MAX_OVERRUNS = 3;
/** Schemas of which it is remembered that they can't be used, or that they ran over. */
const MAX_REMEMBERED = 10_000;
const NO_ARGUMENTS = Buffer.from('{}');

/** What a check found. */
export type CheckResult =
  | { readonly kind: 'valid' }
  /** Between one and ten errors. */
  | { readonly kind: 'invalid'; readonly errors: readonly ArgumentError[] }
  /** Nothing was checked since the schema can't be used. */
  | { readonly kind: 'unusable' }
  /** Nothing was checked since there is too much to check. */
  | { readonly kind: 'busy' };

/** What is known of a schema. */
interface SchemaRecord {
  overruns: number;
  unusable: string | undefined;
}

/** All validators of a gateway. */
export class ArgumentValidators {
  readonly #link: ValidationLink;
  readonly #records = new Map<string, SchemaRecord>();

  /** @param limitMs how long one check may take, the compiling of its schema included */
  constructor(limitMs: number = LIMIT_MS) {
    this.#link = new ValidationLink(limitMs);
  }

  /**
   * The validator of one tool. Costs a digest of the schema; all else happens at the first check.
   * @param schema JSON text of `inputSchema`; it is kept, and must not be changed
   * @param unusable told at most once why the schema can't be used, at the latest after some checks
   */
  validator(schema: Buffer, unusable: (reason: string) => void): Validator {
    const digest = createHash('sha256').update(schema).digest('base64');
    return new Validator(this.#recordOf(digest), { digest, schema, link: this.#link }, unusable);
  }

  /** Ends the validation process. Checks on their way become `busy`. */
  async close(): Promise<void> {
    await this.#link.close();
  }

  #recordOf(digest: string): SchemaRecord {
    const record = this.#records.get(digest) ?? { overruns: 0, unusable: undefined };
    this.#records.delete(digest);
    this.#records.set(digest, record);
    const [oldest] = this.#records.keys();
    if (this.#records.size > MAX_REMEMBERED && oldest !== undefined) this.#records.delete(oldest);
    return record;
  }
}

/** Checks the arguments of one tool. */
export class Validator {
  readonly #record: SchemaRecord;
  readonly #schema: {
    readonly digest: string;
    readonly schema: Buffer;
    readonly link: ValidationLink;
  };
  readonly #unusable: (reason: string) => void;
  #hasTold = false;

  /** Made by ArgumentValidators only. */
  constructor(
    record: SchemaRecord,
    schema: { readonly digest: string; readonly schema: Buffer; readonly link: ValidationLink },
    unusable: (reason: string) => void,
  ) {
    this.#record = record;
    this.#schema = schema;
    this.#unusable = unusable;
    if (schema.schema.length > MAX_SCHEMA_BYTES) {
      record.unusable = `it is longer than ${MAX_SCHEMA_BYTES} bytes`;
    }
  }

  /**
   * Checks the arguments of a call; never throws.
   * @param args JSON text, well-formed; undefined is the same as `{}`
   */
  async check(args: Buffer | undefined): Promise<CheckResult> {
    if (this.#record.unusable !== undefined) return this.#skip(this.#record.unusable);
    const { digest, schema, link } = this.#schema;
    const job = { digest, args: args ?? NO_ARGUMENTS };
    const first = await link.run({ ...job, schema: undefined });
    const outcome = first.kind === 'missing' ? await link.run({ ...job, schema }) : first;
    switch (outcome.kind) {
      case 'unusable':
        this.#record.unusable = outcome.reason;
        return this.#skip(outcome.reason);
      case 'overrun':
        return this.#overrun(outcome.what);
      case 'missing':
        return { kind: 'busy' };
      default:
        return outcome;
    }
  }

  /** These arguments were not found to fit; when others don't come to an end either, none counts. */
  #overrun(what: string): CheckResult {
    this.#record.overruns++;
    if (this.#record.overruns >= MAX_OVERRUNS) {
      const reason = `${MAX_OVERRUNS} checks with it needed more ${what} than a check may have`;
      this.#record.unusable = reason;
      return this.#skip(reason);
    }
    const message = `could not be checked: the check needed more ${what} than it may have`;
    return { kind: 'invalid', errors: [{ path: '', rule: 'limit', message }] };
  }

  #skip(reason: string): CheckResult {
    if (!this.#hasTold) {
      this.#hasTold = true;
      this.#unusable(reason);
    }
    return { kind: 'unusable' };
  }
}
