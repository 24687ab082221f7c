// Checks the arguments of tool calls against the schemas of servers. Schemas may be malicious, so they are
// compiled and run in processes with limits. A schema that can't be used is reported once, and never refuses
// a call. A check that takes too long does not affect the next one. Otherwise one client could switch off the
// checks for all others.

import { createHash } from 'node:crypto';
import { RecentMap } from '../../base/recent-map.ts';
import { EMPTY_OBJECT } from '../../jsonrpc/json-text.ts';
import type { ArgumentError } from './jobs.ts';
import { MAX_SCHEMA_BYTES } from './schema-bounds.ts';
import { type CheckFor, ValidationLink } from './validation-link.ts';

export type { ArgumentError } from './jobs.ts';
export type { CheckFor } from './validation-link.ts';

/** How long one check may take. */
const LIMIT_MS = 1_000;
/** Schemas that can't be used, to be remembered. */
const MAX_REMEMBERED = 10_000;

/** The result of a check. */
export type CheckResult =
  | { readonly kind: 'valid' }
  /** One to ten errors. */
  | { readonly kind: 'invalid'; readonly errors: readonly ArgumentError[] }
  /** Not checked, because the schema can't be used. */
  | { readonly kind: 'unusable' }
  /** Not checked, because there are too many checks. */
  | { readonly kind: 'busy' };

/** What is known about a schema. */
interface SchemaRecord {
  unusable: string | undefined;
}

/** All validators of a gateway. */
export class ArgumentValidators {
  readonly #link: ValidationLink;
  readonly #records = new RecentMap<string, SchemaRecord>(MAX_REMEMBERED);

  /** @param limitMs how long one check may take, in milliseconds, including compiling the schema */
  constructor(limitMs: number = LIMIT_MS) {
    this.#link = new ValidationLink(limitMs);
  }

  /**
   * The validator of one tool. It computes a digest of the schema; everything else happens at the first
   * check.
   * @param schema JSON text of `inputSchema`; it is kept, and must not be changed
   * @param unusable called at most once with the reason why the schema can't be used; not later than after
   *   some checks
   */
  validator(schema: Buffer, unusable: (reason: string) => void): Validator {
    const digest = createHash('sha256').update(schema).digest('base64');
    return new Validator(
      this.#records.getOrMake(digest, newRecord),
      { digest, schema, link: this.#link },
      unusable,
    );
  }

  /** Ends the validation processes. Checks in progress become `busy`. */
  async close(): Promise<void> {
    await this.#link.close();
  }
}

function newRecord(): SchemaRecord {
  return { unusable: undefined };
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

  /** Only for ArgumentValidators. */
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
   * Checks the arguments of a call. Never throws.
   * @param args well-formed JSON text; undefined is the same as `{}`
   * @param whom the caller and the server
   */
  async check(args: Buffer | undefined, whom: CheckFor): Promise<CheckResult> {
    if (this.#record.unusable !== undefined) return this.#skip(this.#record.unusable);
    const { digest, schema, link } = this.#schema;
    const job = { digest, args: args ?? EMPTY_OBJECT };
    const first = await link.run({ ...job, schema: undefined }, whom);
    const outcome = first.kind === 'missing' ? await link.run({ ...job, schema }, whom) : first;
    switch (outcome.kind) {
      case 'unusable':
        this.#record.unusable = outcome.reason;
        return this.#skip(outcome.reason);
      case 'overrun':
        return overrun(`the check needed more ${outcome.what} than it may have`);
      case 'failed':
        return overrun(`the check failed: ${outcome.reason}`);
      case 'missing':
        return { kind: 'busy' };
      default:
        return outcome;
    }
  }

  #skip(reason: string): CheckResult {
    if (!this.#hasTold) {
      this.#hasTold = true;
      this.#unusable(reason);
    }
    return { kind: 'unusable' };
  }
}

/** Other arguments may be fine, so this counts for this call only. */
function overrun(why: string): CheckResult {
  const message = `could not be checked: ${why}`;
  return { kind: 'invalid', errors: [{ path: '', rule: 'limit', message }] };
}
