// Length limits for texts of peers that are compared, looked up, split, normalized or sent in a header. They
// are checked before any work on such a text, so that all work is bounded. Normal peers are far below them;
// longer texts are refused with an error that names the limit. Texts that are only passed on, such as
// arguments, content and answers of clients, are limited only by the size of the message.

const KIB = 1_024;

/** In bytes of the message, escapes included; in UTF-16 code units if the text is already decoded. */
export const TEXT_LIMITS = {
  /** The longest method of MCP has 36 characters. */
  method: 256,
  /** Ids of requests, and where cancellations name them. */
  id: KIB,
  progressToken: KIB,
  /** Of tools and prompts; models accept 64 to 128 characters. */
  name: KIB,
  /**
   * URIs and URI templates. A path may have 4 KiB on Linux, and three times as much with percent escapes. A
   * `data:` URI in content is only passed on.
   */
  uri: 16 * KIB,
  cursor: 16 * KIB,
  /** The sealed id that a client sees; it contains the server's id. */
  taskId: 16 * KIB,
  /** A server's id of a task or an elicitation. */
  serverId: KIB,
  /** What a client says about itself, with icons: `_meta` of a modern request, params of `initialize`. */
  profile: 256 * KIB,
  /** `Last-Event-ID`. */
  eventId: KIB,
} as const;

/**
 * Limit for the members of a message, of its `params` and of its `_meta`. `arguments` may have any number.
 */
export const MAX_MEMBERS = 1_000;

/** Whether a value is a text of at most `limit` characters. */
export function isTextWithin(value: unknown, limit: number): value is string {
  return typeof value === 'string' && value.length <= limit;
}

/** The text of an error about a text that is too long. */
export function lengthRule(what: string, limit: number): string {
  return `${what} must have at most ${limit} bytes`;
}
