// The words by which hosts and frameworks say how a server is reached.

/** A child process, or a transport of `servers.NAME.transport`. */
export type Kind = 'process' | 'auto' | 'streamable-http' | 'sse';

/** Without case, `_` and `-`. */
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

/** What would be right. */
export const KINDS = 'stdio, http, streamable-http, sse';

/** What `http`, `streamable_http`, `streamableHttp`, `stdio` and the like mean; undefined: nothing here. */
export function kindOf(word: unknown): Kind | undefined {
  return typeof word === 'string' ? WORDS.get(word.toLowerCase().replace(/[_-]/g, '')) : undefined;
}
