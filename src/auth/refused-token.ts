// Why a token is not good. The operator is told in full, once a minute and reason; its sender is told
// what is wrong with it, and nothing that is not public.
import { cutText } from '../base/cut-text.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLine } from '../observe/rare-line.ts';

/** Texts of a token may be as long as the token. */
const MAX_GIVEN = 200;

const SENTENCES = {
  malformed: 'It is neither a known API key nor a well-formed access token.',
  type: 'The token is not an access token (typ).',
  issuer: 'The issuer of the token is not accepted (iss).',
  algorithm: 'The signature algorithm of the token is not accepted (alg).',
  key: 'The issuer of the token has no such key (kid).',
  signature: 'The signature of the token is wrong.',
  claim: 'A claim of the token is missing or not usable',
  audience: 'The token is meant for another audience (aud)',
  expired: 'The token is expired (exp).',
  not_before: 'The token is not valid yet (nbf).',
  issued_at: 'The token was issued in the future (iat).',
  lifetime: 'The token is valid for too long (exp).',
} as const;

/** A closed list: it is a label of a metric. */
export type RefusalReason = keyof typeof SENTENCES;

/** What was looked at. */
export interface RefusalDetails {
  /** Of the payload, or a parameter of the header. */
  readonly claim?: string;
  /** What it has to be. */
  readonly expected?: string;
  /** What it is. Never the token. */
  readonly given?: unknown;
}

/** A token that is not good. */
export class RefusedToken {
  readonly reason: RefusalReason;
  readonly details: RefusalDetails;

  constructor(reason: RefusalReason, details: RefusalDetails = {}) {
    this.reason = reason;
    this.details = details;
  }

  /**
   * What its sender is told.
   * @param resource the address that a token has to be meant for
   */
  describe(resource: string): string {
    const sentence = SENTENCES[this.reason];
    if (this.reason === 'audience') return `${sentence}; get one for ${resource}.`;
    return this.reason === 'claim' ? `${sentence}: ${this.details.claim}.` : sentence;
  }
}

/** Tells the operator of refused tokens. */
export class TokenRefusals {
  readonly #lines = new Map<RefusalReason, RareLine<RefusalDetails>>();
  readonly #logger: Logger;
  readonly #counter: Metrics['tokensRefused'];

  constructor({ logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics }) {
    this.#logger = logger;
    this.#counter = metrics.tokensRefused;
  }

  note({ reason, details }: RefusedToken): void {
    this.#counter.inc({ reason });
    let line = this.#lines.get(reason);
    if (line === undefined) {
      line = new RareLine((count, { claim, expected, given }) =>
        this.#logger.info({ reason, claim, expected, given: shown(given), count }, 'token refused'),
      );
      this.#lines.set(reason, line);
    }
    line.note(details);
  }
}

function shown(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  return cutText(typeof given === 'string' ? given : jsonText(given), MAX_GIVEN);
}
