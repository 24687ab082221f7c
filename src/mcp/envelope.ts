// The envelope of a modern request. What a legacy client says once in `initialize` is in `_meta` of every
// modern message (2026-07-28 basic/index).

import { lengthRule, TEXT_LIMITS } from '../base/text-limits.ts';
import { invalidParams, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseSpan } from '../jsonrpc/parse.ts';
import type { ClientCapabilities } from './capabilities.ts';
import { unsupportedVersion } from './errors.ts';
import { severityOf } from './log-levels.ts';
import { META } from './meta.ts';
import { MODERN_VERSION } from './versions.ts';

/** What a modern request says about its client. */
export interface Envelope {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info: unknown;
  /** The least severity of log messages that it wants; undefined: none at all. */
  readonly severity: number | undefined;
}

const TOO_LONG = invalidParams(`${lengthRule('_meta', TEXT_LIMITS.profile)}.`);

/** The version in the envelope of a request; undefined if it is not a string. */
export function claimedVersion(frame: Frame): string | undefined {
  const claim = parseSpan(frame.bytes, frame.claimStart, frame.claimEnd);
  return typeof claim === 'string' ? claim : undefined;
}

/** Reads the envelope of a request that has a version. */
function readEnvelope(frame: Frame): Envelope | WireError {
  if (frame.metaEnd - frame.metaStart > TEXT_LIMITS.profile) return TOO_LONG;
  const meta = parseSpan(frame.bytes, frame.metaStart, frame.metaEnd);
  const values = isObject(meta) ? meta : {};
  const version = values[META.protocolVersion];
  const capabilities = values[META.clientCapabilities];
  const level = values[META.logLevel];
  if (typeof version !== 'string') return missing(META.protocolVersion, 'a string');
  if (!isObject(capabilities)) return missing(META.clientCapabilities, 'an object');
  const severity = severityOf(level);
  if (level !== undefined && severity === undefined) return missing(META.logLevel, 'a log level');
  return { version, capabilities, info: values[META.clientInfo], severity };
}

/** The envelope of a request, or the error that refuses the request. The same for every transport. */
export function checkEnvelope(
  frame: Frame,
): { readonly envelope: Envelope } | { readonly error: WireError } {
  const envelope = readEnvelope(frame);
  if ('message' in envelope) return { error: envelope };
  if (envelope.version === MODERN_VERSION) return { envelope };
  return { error: unsupportedVersion([MODERN_VERSION], envelope.version) };
}

function missing(key: string, kind: string): WireError {
  return invalidParams(`_meta["${key}"] must be ${kind}.`);
}
