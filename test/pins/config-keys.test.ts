// The configuration's keys are a contract with everyone's files: adding one is a decision, removing
// one breaks users.
import { expect, it } from 'vitest';
import { z } from 'zod';
import { documentSchema } from '../../src/config/schema.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
}

function keysOf(schema: Schema, prefix: string): string[] {
  const { additionalProperties: entry } = schema;
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
      const path = `${prefix}${key}`;
      const inner = keysOf(value, `${path}.`);
      return inner.length === 0 ? [path] : inner;
    }),
    ...(schema.items === undefined ? [] : keysOf(schema.items, prefix)),
    ...(typeof entry === 'object' ? keysOf(entry, `${prefix}*.`) : []),
    ...(schema.anyOf ?? []).flatMap((option) => keysOf(option, prefix)),
  ];
}

it('the configuration has these keys', () => {
  const schema = z.toJSONSchema(documentSchema, { io: 'input' }) as Schema;
  const all = keysOf(schema, '').filter((key) => !key.startsWith('mcpServers.'));
  // Entries of both kinds have most keys.
  const keys = [...new Set(all)];
  expect(keys.toSorted()).toEqual([
    'admin.allowRemote',
    'admin.host',
    'admin.port',
    'auth',
    'drain',
    'endpoints.*.servers',
    'listen.allowUnauthenticated',
    'listen.allowedHosts',
    'listen.allowedOrigins',
    'listen.host',
    'listen.maxBody',
    'listen.port',
    'listen.publicUrl',
    'log.level',
    'log.messages',
    'processes.max',
    'processes.maxPerPrincipal',
    'processes.maxStarting',
    'servers.*.args',
    'servers.*.command',
    'servers.*.cwd',
    'servers.*.env',
    'servers.*.era',
    'servers.*.framing',
    'servers.*.headers',
    'servers.*.inheritEnv',
    'servers.*.limits.inFlight',
    'servers.*.limits.message',
    'servers.*.limits.queue',
    'servers.*.protocol',
    'servers.*.replicas',
    'servers.*.roots.name',
    'servers.*.roots.uri',
    'servers.*.sharing',
    'servers.*.start',
    'servers.*.timeouts.idle',
    'servers.*.timeouts.queue',
    'servers.*.timeouts.request',
    'servers.*.timeouts.requestMax',
    'servers.*.timeouts.start',
    'servers.*.timeouts.stop',
    'servers.*.transport',
    'servers.*.url',
    'sessions.idle',
    'sessions.max',
    'state.keys',
    'state.ttl',
  ]);
});
