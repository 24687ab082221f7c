// Parts of HTTP servers, without what is never used and takes memory.
import type { FastifyServerOptions } from 'fastify';

/**
 * Node's module. `import` would read all its exports, and reading its `WebSocket` makes Node load its fetch:
 * 13 MB.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** For fastify: routes have no schemas, so no schema compiler has to be loaded. */
export const NO_SCHEMAS: Pick<FastifyServerOptions, 'schemaController'> = {
  schemaController: {
    compilersFactory: {
      buildValidator: () => noSchema,
      buildSerializer: () => noSchema,
    },
  },
};

function noSchema(): never {
  throw new TypeError('no route has a schema');
}
