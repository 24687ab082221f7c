// The keys of `_meta` that the protocol defines (2026-07-28 basic/index). All other keys are passed on.

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

/** Whether a key belongs to the envelope of a modern request, so that a legacy server does not get it. */
export function isEnvelopeKey(key: string): boolean {
  return REQUEST_ENVELOPE.has(key);
}
