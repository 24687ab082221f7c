// How long texts of peers may be that are compared, looked up, split, normalised or sent on in a header.
// Asked before any work is done on such a text, so that the work has a bound whatever it is. No peer that
// means well comes near: longer ones are refused with an error that says the limit. What is only carried,
// such as arguments, content and a client's answers, has no limit but that of the whole message.

const KIB = 1_024;

/** In bytes as a text stands in its message, escapes included; in UTF-16 code units where it is decoded. */
export const TEXT_LIMITS = {
  /** The longest that MCP has are 36 characters long. */
  method: 256,
  /** Ids of requests, and what names them in cancels. */
  id: KIB,
  progressToken: KIB,
  /** Of tools and prompts; models take 64 to 128 characters. */
  name: KIB,
  /**
   * URIs and URI templates. A path may have 4 KiB on Linux, which may be three times as long with percent
   * escapes. A `data:` URI that stands in content is only carried.
   */
  uri: 16 * KIB,
  cursor: 16 * KIB,
  /** As a client knows it: sealed, with a server's own id in it. */
  taskId: 16 * KIB,
  /** What a server names a task or an elicitation by. */
  serverId: KIB,
  /** What a client says of itself, icons included: `_meta` of a modern request, params of `initialize`. */
  profile: 256 * KIB,
  /** What a stream can be resumed behind. */
  eventId: KIB,
} as const;

/** Members of a message, of its `params` and of its `_meta`. Of `arguments` there may be any number. */
export const MAX_MEMBERS = 1_000;

/** Whether a value is a text of at most so many characters. */
export function isTextWithin(value: unknown, limit: number): value is string {
  return typeof value === 'string' && value.length <= limit;
}

/** What an error says of a text that is too long. */
export function lengthRule(what: string, limit: number): string {
  return `${what} must have at most ${limit} bytes`;
}
