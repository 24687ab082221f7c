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
  // `format` is for the documentation; editors complain about formats that they don't know.
  const text = JSON.stringify(
    schema,
    (key, value: unknown) => (key === 'format' ? undefined : value),
    2,
  );
  return `${text}\n`;
}

const INTRODUCTION = `<!-- Made by npm run docs:generate from the options' schemas. Edit those. -->

# Configuration

YAML 1.2, JSON or TOML. \`sluice check\` validates a file and prints it with every default. A complete file
with comments is \`config/sluice.example.yaml\`.

JSON is what a file named \`.json\` or \`.jsonc\` has, and any other one that starts with \`{\`. It may have
comments (\`//\` and \`/* */\`) and a comma after the last member. TOML is what a file named \`.toml\` has.

Durations are \`250ms\`, \`30s\`, \`5m\`, \`2h\`; sizes are \`512B\`, \`64KiB\`, \`4MiB\`. An unknown key is an
error.

In any value, these are replaced when the file is loaded:

| text | becomes |
|---|---|
| \`\${NAME}\` | the variable of the gateway's environment; an error when it isn't set |
| \`\${NAME:-default}\` | the same, or \`default\` when it isn't set or is empty |
| \`\${file:/run/secrets/x}\` | the file's content without its last newline, at most 64 KiB |
| \`\${principal.name}\`, \`\${principal.claims.NAME}\` | in \`env\` of a server with \`sharing\` \`principal\` or \`session\`: the name of the client that the process is for, or a claim of its verified token; a client without it gets an error |
| \`$\${\` | a literal \`\${\` |

Inside \`{ }\` and \`[ ]\` such a value needs quotes. Values from outside the file are masked by
\`sluice check\` and never part of an error message.

A file that an MCP host wrote, with its \`mcpServers\`, \`context_servers\`, \`mcp_servers\`, \`mcp\` or
\`servers\`, is accepted as it is: see [host-files.md](host-files.md).
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
        'A server: a process that speaks on stdin and stdout. NAME is 1 to 32 of `a-z`, `0-9` and `-`.',
    }),
    ...describeSection('`servers.NAME` with `url`', 'servers.NAME', {
      ...remote,
      description:
        'A remote server, reached over HTTP. Timeouts and limits are those of a process.',
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
    return `list of ${schema.items?.properties === undefined ? 'texts' : 'maps'}`;
  }
  if (schema.type === 'object') {
    return `map of ${entryOf(schema).properties === undefined ? 'texts' : 'maps'}`;
  }
  return schema.format ?? 'text';
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
