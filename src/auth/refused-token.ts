// Why a token is not valid. The log has all details, once a minute for each reason. The sender is told what
// is wrong with the token, but nothing that is not public.
import { cutText } from '../base/cut-text.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLine } from '../observe/rare-line.ts';

/** Texts in a token may be as long as the token. */
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

/** A closed list: it is a metric label. */
export type RefusalReason = keyof typeof SENTENCES;

/** What was checked. */
export interface RefusalDetails {
  /** A claim, or a parameter of the header. */
  readonly claim?: string;
  /** The expected value. */
  readonly expected?: string;
  /** The actual value. Never the token. */
  readonly given?: unknown;
}

/** A token that is not valid. */
export class RefusedToken {
  readonly reason: RefusalReason;
  readonly details: RefusalDetails;

  constructor(reason: RefusalReason, details: RefusalDetails = {}) {
    this.reason = reason;
    this.details = details;
  }

  /**
   * The message for its sender.
   * @param resource the URL that the token must be issued for
   */
  describe(resource: string): string {
    const sentence = SENTENCES[this.reason];
    if (this.reason === 'audience') return `${sentence}; get one for ${resource}.`;
    return this.reason === 'claim' ? `${sentence}: ${this.details.claim}.` : sentence;
  }
}

/** Logs refused tokens. */
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
