// Checks the head of a request before anything is known about its sender: HTTP version, transfer coding,
// target, Host and Origin.
import type { IncomingMessage } from 'node:http';
import { type GuardOptions, OriginGuard } from '../auth/origin-guard.ts';
import type { Logger } from '../observe/logger.ts';
import { RareLine } from '../observe/rare-line.ts';
import { REFUSALS, type Refusal } from './error-response.ts';
import { isJsonBody } from './request-headers.ts';

/** Checks request heads. */
export class HeadGuard {
  readonly #origins: OriginGuard;
  readonly #refused: RareLine<string>;

  constructor(options: GuardOptions, logger: Logger) {
    this.#origins = new OriginGuard(options);
    this.#refused = new RareLine((count, why) =>
      logger.warn({ why, count }, 'a request was refused for its Host or Origin'),
    );
  }

  /** Allows pages that the gateway's own address serves. Called when the port is known. */
  allowOwnPort(scheme: 'http' | 'https', port: number): void {
    this.#origins.allowOwnPort(scheme, port);
  }

  /**
   * Checks one request.
   * @param isPublic for documents that every page may read
   * @returns undefined if the request is fine
   */
  check(request: IncomingMessage, isPublic = false): Refusal | undefined {
    const fault = faultOf(request);
    if (fault !== undefined) return fault;
    const refusal = this.#origins.check(request.rawHeaders, isPublic);
    if (refusal === undefined) return undefined;
    if (refusal.status === 403) this.#refused.note(refusal.message);
    return { ...REFUSALS.badHead, ...refusal };
  }
}

/** Node's parser accepts more versions and codings than are supported here. */
function faultOf({ httpVersion, headers, url }: IncomingMessage): Refusal | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return REFUSALS.httpVersion;
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') return REFUSALS.coding;
  // A target with a host in it would bypass the check of Host (docs/reliability.md#a07).
  return url?.startsWith('/') === true ? undefined : REFUSALS.badTarget;
}

/** How often a header was sent. */
export function countOf({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) count++;
  }
  return count;
}

/** Whether a request says that its body is JSON, as it is, and says so once. */
export function hasJsonBody(request: IncomingMessage): boolean {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers;
  return isJsonBody(type, encoding) && countOf(request, 'content-type') === 1;
}
