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
    'endpoints.*.listTimeout',
    'endpoints.*.pin',
    'endpoints.*.prefix',
    'endpoints.*.separator',
    'endpoints.*.servers',
    'endpoints.*.shape.*.prompts.allow',
    'endpoints.*.shape.*.prompts.deny',
    'endpoints.*.shape.*.prompts.overrides.*.description',
    'endpoints.*.shape.*.prompts.overrides.*.title',
    'endpoints.*.shape.*.prompts.rename',
    'endpoints.*.shape.*.resources.allow',
    'endpoints.*.shape.*.resources.deny',
    'endpoints.*.shape.*.tools.allow',
    'endpoints.*.shape.*.tools.deny',
    'endpoints.*.shape.*.tools.overrides.*.annotations.destructiveHint',
    'endpoints.*.shape.*.tools.overrides.*.annotations.idempotentHint',
    'endpoints.*.shape.*.tools.overrides.*.annotations.openWorldHint',
    'endpoints.*.shape.*.tools.overrides.*.annotations.readOnlyHint',
    'endpoints.*.shape.*.tools.overrides.*.annotations.title',
    'endpoints.*.shape.*.tools.overrides.*.arguments.*.default',
    'endpoints.*.shape.*.tools.overrides.*.arguments.*.value',
    'endpoints.*.shape.*.tools.overrides.*.concurrency',
    'endpoints.*.shape.*.tools.overrides.*.description',
    'endpoints.*.shape.*.tools.overrides.*.timeout',
    'endpoints.*.shape.*.tools.overrides.*.title',
    'endpoints.*.shape.*.tools.rename',
    'endpoints.*.toolList',
    'endpoints.*.validateArguments',
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
    'servers.*.pin',
    'servers.*.prompts.allow',
    'servers.*.prompts.deny',
    'servers.*.prompts.overrides.*.description',
    'servers.*.prompts.overrides.*.title',
    'servers.*.prompts.rename',
    'servers.*.protocol',
    'servers.*.replicas',
    'servers.*.resources.allow',
    'servers.*.resources.deny',
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
    'servers.*.tools.allow',
    'servers.*.tools.deny',
    'servers.*.tools.overrides.*.annotations.destructiveHint',
    'servers.*.tools.overrides.*.annotations.idempotentHint',
    'servers.*.tools.overrides.*.annotations.openWorldHint',
    'servers.*.tools.overrides.*.annotations.readOnlyHint',
    'servers.*.tools.overrides.*.annotations.title',
    'servers.*.tools.overrides.*.arguments.*.default',
    'servers.*.tools.overrides.*.arguments.*.value',
    'servers.*.tools.overrides.*.concurrency',
    'servers.*.tools.overrides.*.description',
    'servers.*.tools.overrides.*.timeout',
    'servers.*.tools.overrides.*.title',
    'servers.*.tools.rename',
    'servers.*.transport',
    'servers.*.url',
    'servers.*.validateArguments',
    'sessions.idle',
    'sessions.max',
    'state.keys',
    'state.ttl',
  ]);
});
