// Writes the files that are made from the sources: `npm run docs:generate`. A test compares them, so
// each generator is a function of nothing but the sources.
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { documentSchema } from '../src/config/schema.ts';

/** A file that is made from the sources. */
export interface GeneratedFile {
  /** Relative to the repository. */
  readonly path: string;
  readonly content: () => string;
}

/** Every generated file. */
export const generatedFiles: readonly GeneratedFile[] = [
  { path: 'config/sluice.schema.json', content: configurationSchema },
  { path: 'docs/configuration.md', content: configurationDocument },
];

/** The part of JSON Schema that the generator reads. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
}

function inputSchema(): Schema {
  return z.toJSONSchema(documentSchema, { io: 'input' }) as Schema;
}

function configurationSchema(): string {
  const schema = { title: 'Sluice configuration', ...inputSchema() };
  // `format` is for the documentation, `shown` for `sluice check`; editors complain about what they
  // don't know.
  const text = JSON.stringify(
    schema,
    (key, value: unknown) => (key === 'format' || key === 'shown' ? undefined : value),
    2,
  );
  return `${text}\n`;
}

const INTRODUCTION = `<!-- Made by npm run docs:generate from the options' schemas. Edit those. -->

# Configuration

The configuration is one file in YAML 1.2, JSON or TOML. \`sluice check\` validates it and prints it with
all defaults. \`config/sluice.example.yaml\` is a complete file with comments.

A file is read as JSON if its name ends in \`.json\` or \`.jsonc\`, or if it starts with \`{\`. JSON may have
comments (\`//\` and \`/* */\`) and a trailing comma. A file is read as TOML if its name ends in \`.toml\`.

Durations are written as \`250ms\`, \`30s\`, \`5m\` or \`2h\`, sizes as \`512B\`, \`64KiB\` or \`4MiB\`. An unknown
key is an error.

These placeholders are replaced in every value:

| placeholder | becomes |
|---|---|
| \`\${NAME}\` | the environment variable of the gateway. It is an error if the variable is not set |
| \`\${NAME:-default}\` | the same, or \`default\` if the variable is not set or empty |
| \`\${file:/run/secrets/x}\` | the content of the file without its last newline, at most 64 KiB |
| \`\${principal.name}\`, \`\${principal.claims.NAME}\` | only in \`env\` of a server with \`sharing: principal\` or \`sharing: session\`: the name of the client that the process is for, or a claim of its verified token. A client without that claim gets an error |
| \`$\${\` | a literal \`\${\` |

Put a value with a placeholder in quotes inside \`{ }\` and \`[ ]\`. Values that come from a variable or a file
are masked by \`sluice check\`, and are never part of an error message.

A configuration file of an MCP host, with \`mcpServers\`, \`context_servers\`, \`mcp_servers\`, \`mcp\` or
\`servers\`, works without changes: see [host-files.md](host-files.md).
`;

function configurationDocument(): string {
  const { properties = {} } = inputSchema();
  const { servers, mcpServers: _, ...settings } = properties;
  const [local, remote] = entryOf(servers).anyOf ?? [];
  const entries = Object.entries(settings).map(
    ([key, schema]) => [key, sectionOf(schema)] as const,
  );
  const scalars = entries.filter(([, schema]) => schema.properties === undefined);
  const sections = entries.filter(([, schema]) => schema.properties !== undefined);
  const top: Schema = { properties: Object.fromEntries(scalars) };
  const parts = [
    INTRODUCTION,
    ...sections.flatMap(([key, schema]) => describeSection(`\`${key}\``, key, schema)),
    ...describeSection('`servers.NAME`', 'servers.NAME', {
      ...local,
      description:
        'A server that runs as a child process and speaks on stdin and stdout. NAME is 1 to 32 characters of `a-z`, `0-9` and `-`.',
    }),
    ...describeSection('`servers.NAME` with `url`', 'servers.NAME', {
      ...remote,
      description: 'A remote server, reached over HTTP.',
    }),
    ...describeSection('Other keys', '', top),
  ];
  return parts.join('\n');
}

/** Of a key that is a word or a map, the map. */
function sectionOf(schema: Schema): Schema {
  const map = schema.anyOf?.find(({ properties }) => properties !== undefined);
  return map === undefined
    ? schema
    : { ...map, ...(schema.description === undefined ? {} : { description: schema.description }) };
}

function describeSection(heading: string, path: string, schema: Schema): string[] {
  const entries = Object.entries(schema.properties ?? {});
  const rows = entries
    .filter(([, value]) => value.properties === undefined)
    .map(([key, value]) => describeRow(key, value, schema.required?.includes(key) ?? false));
  const nested = entries.filter(([, value]) => value.properties !== undefined);
  const lists = entries.filter(([, value]) => value.items?.properties !== undefined);
  return [
    `\n## ${heading}\n`,
    ...(schema.description === undefined ? [] : [`${schema.description}\n`]),
    '| key | value | default | meaning |',
    '|---|---|---|---|',
    ...rows,
    ...nested.flatMap(([key, value]) =>
      describeSection(`\`${path}.${key}\``, `${path}.${key}`, value),
    ),
    ...lists.flatMap(([key, value]) =>
      describeSection(`\`${path}.${key}[]\``, `${path}.${key}[]`, value.items ?? {}),
    ),
  ];
}

function describeRow(key: string, schema: Schema, isRequired: boolean): string {
  const fallback = schema.default === undefined ? '' : `\`${asYaml(schema.default)}\``;
  const cells = [
    `\`${key}\``,
    kindOf(schema),
    isRequired ? '**required**' : fallback,
    schema.description ?? '',
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function kindOf(schema: Schema): string {
  if (schema.enum !== undefined) {
    return schema.enum.map((word) => `\`${word}\``).join(', ');
  }
  if (schema.const !== undefined) {
    return `\`${schema.const}\``;
  }
  if (schema.type === 'integer') {
    return `${schema.minimum} to ${schema.maximum}`;
  }
  if (schema.type === 'boolean') {
    return '`true`, `false`';
  }
  if (schema.type === 'array') {
    return `list of ${schema.items?.properties === undefined ? 'strings' : 'objects'}`;
  }
  if (schema.type === 'object') {
    return `map of ${entryOf(schema).properties === undefined ? 'strings' : 'objects'}`;
  }
  return schema.format ?? 'string';
}

function entryOf(schema: Schema | undefined): Schema {
  const entry = schema?.additionalProperties;
  return typeof entry === 'object' ? entry : {};
}

function asYaml(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

if (import.meta.main) {
  const root = new URL('../', import.meta.url);
  for (const { path, content } of generatedFiles) {
    const target = new URL(path, root);
    const text = content();
    const before = readOptional(target);
    if (before !== text) {
      writeFileSync(target, text);
      console.log(`wrote ${path}`);
    }
  }
}

function readOptional(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
