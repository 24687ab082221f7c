// The words that hosts and frameworks use for transports.

/** A child process, or a transport of `servers.NAME.transport`. */
export type Kind = 'process' | 'auto' | 'streamable-http' | 'sse';

/** Case, `_` and `-` do not matter. */
const WORDS: ReadonlyMap<string, Kind> = new Map([
  ['stdio', 'process'],
  ['local', 'process'],
  ['auto', 'auto'],
  ['http', 'auto'],
  ['https', 'auto'],
  ['remote', 'auto'],
  ['sse', 'sse'],
  ['streamable', 'streamable-http'],
  ['streamablehttp', 'streamable-http'],
]);

/** The valid words, for messages. */
export const KINDS = 'stdio, http, streamable-http, sse';

/** The meaning of `http`, `streamable_http`, `streamableHttp`, `stdio` and others; undefined if unknown. */
export function kindOf(word: unknown): Kind | undefined {
  return typeof word === 'string' ? WORDS.get(word.toLowerCase().replace(/[_-]/g, '')) : undefined;
}
