// What servers are made of, without the parts of it that are never used and take memory.
import type { FastifyServerOptions } from 'fastify';

/**
 * Node's module. `import` reads all that it exports, and with its `WebSocket` Node loads its fetch: 13 MB.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** For fastify: no route has a schema, so nothing has to be loaded that compiles them. */
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
