// The keys of `_meta` that the protocol owns (2026-07-28 basic/index). Every other key is carried.

const PREFIX = 'io.modelcontextprotocol/';

export const META = {
  protocolVersion: `${PREFIX}protocolVersion`,
  clientInfo: `${PREFIX}clientInfo`,
  clientCapabilities: `${PREFIX}clientCapabilities`,
  logLevel: `${PREFIX}logLevel`,
  subscriptionId: `${PREFIX}subscriptionId`,
  serverInfo: `${PREFIX}serverInfo`,
  relatedTask: `${PREFIX}related-task`,
} as const;

/** Name of the tasks extension in `capabilities.extensions`. */
export const TASKS_EXTENSION = `${PREFIX}tasks`;

const REQUEST_ENVELOPE: ReadonlySet<string> = new Set([
  META.protocolVersion,
  META.clientInfo,
  META.clientCapabilities,
  META.logLevel,
  META.subscriptionId,
]);

/** Whether a key belongs to the envelope of a modern request: it never reaches a legacy server. */
export function isEnvelopeKey(key: string): boolean {
  return REQUEST_ENVELOPE.has(key);
}
