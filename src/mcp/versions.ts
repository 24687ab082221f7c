// The protocol revisions, in order. The era always follows from the version, and is not stored beside it.

export const LEGACY_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export type LegacyVersion = (typeof LEGACY_VERSIONS)[number];

export const NEWEST_LEGACY: LegacyVersion = '2025-11-25';
export const MODERN_VERSION = '2026-07-28';

/** A pre-release version that the official SDKs still accept. Its messages are those of 2024-11-05. */
const PRE_RELEASE = '2024-10-07';

/** Whether `version` is a legacy revision that Sluice serves. */
export function isLegacyVersion(version: unknown): version is LegacyVersion {
  return (LEGACY_VERSIONS as readonly unknown[]).includes(version);
}

/** Whether `version` is any revision that Sluice knows, to check the header. */
export function isKnownVersion(version: string): boolean {
  return isLegacyVersion(version) || version === PRE_RELEASE || version === MODERN_VERSION;
}

/** Whether `version` has the form of a modern revision. */
export function isModernVersion(version: string): boolean {
  return version === MODERN_VERSION;
}

/**
 * The version in the answer to `initialize`: the requested one if it is served, else the newest legacy one;
 * never an error (2025-11-25 basic/lifecycle).
 */
export function negotiate(requested: unknown): string {
  if (isLegacyVersion(requested) || requested === PRE_RELEASE) return requested as string;
  return NEWEST_LEGACY;
}

/** Whether `version` is the same as `other` or newer. Revisions are dates, so they are compared as text. */
export function isAtLeast(version: string, other: LegacyVersion): boolean {
  return version >= other;
}

/** JSON-RPC batches exist up to 2025-03-26 (docs/protocol.md#batches). */
export function allowsBatches(version: string): boolean {
  return !isAtLeast(version, '2025-06-18');
}

/** Only from 2025-11-25 on may the first event of a stream have empty data (SEP-1699). */
export function hasPrimingEvent(version: string): boolean {
  return isAtLeast(version, '2025-11-25');
}
