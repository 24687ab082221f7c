// The protocol revisions, in order. An era is derived from a version, never stored beside it.

export const LEGACY_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export type LegacyVersion = (typeof LEGACY_VERSIONS)[number];

export const NEWEST_LEGACY: LegacyVersion = '2025-11-25';
export const MODERN_VERSION = '2026-07-28';

/** A pre-release string that the official SDKs still accept: the same wire as 2024-11-05. */
const PRE_RELEASE = '2024-10-07';

/** Whether `version` is a handshake revision that Sluice serves. */
export function isLegacyVersion(version: unknown): version is LegacyVersion {
  return (LEGACY_VERSIONS as readonly unknown[]).includes(version);
}

/** Whether `version` names any revision that Sluice knows, for the header check. */
export function isKnownVersion(version: string): boolean {
  return isLegacyVersion(version) || version === PRE_RELEASE || version === MODERN_VERSION;
}

/** Whether `version` has the shape of a revision of the stateless era. */
export function isModernVersion(version: string): boolean {
  return version === MODERN_VERSION;
}

/**
 * What `initialize` is answered with: the requested version if it is served, else the newest
 * legacy one; never an error (2025-11-25 basic/lifecycle).
 */
export function negotiate(requested: unknown): string {
  if (isLegacyVersion(requested) || requested === PRE_RELEASE) return requested as string;
  return NEWEST_LEGACY;
}

/** Whether `version` is the same as or newer than `other`. Revisions are dates, so text compares. */
export function isAtLeast(version: string, other: LegacyVersion): boolean {
  return version >= other;
}

/** JSON-RPC batches exist up to 2025-03-26 and are gone from 2025-06-18 on (docs/protocol.md#batches). */
export function allowsBatches(version: string): boolean {
  return !isAtLeast(version, '2025-06-18');
}

/** The first event of a stream may have empty data only from 2025-11-25 on (SEP-1699). */
export function hasPrimingEvent(version: string): boolean {
  return isAtLeast(version, '2025-11-25');
}
