/** The target of a server that is known to be a child process. */
import type { ServerOptions } from '../../src/upstream/options.ts';
import type { StdioTarget } from '../../src/upstream/stdio/options.ts';

/** @throws Error when the server is another kind, or missing. */
export function processTarget(server: ServerOptions | undefined): StdioTarget {
  if (server?.target.kind !== 'stdio') throw new Error('not a server that is a child process');
  return server.target;
}
