// Options about shown tools, prompts and resources: `tools`, `prompts` and `resources` of a server, and of a
// server in the `shape` of an endpoint. All names are those of the level below: a server's entry uses the
// server's own names, an endpoint uses the names that the entry makes of them.
import { z } from 'zod';
import {
  duration,
  flag,
  integer,
  type KeyOptions,
  list,
  type Options,
  section,
  text,
} from '../base/options.ts';
import { jsonText } from '../jsonrpc/serialize.ts';

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const NAME_ERROR = 'must be a name: 1 to 128 of A-Z, a-z, 0-9, _, - and .';

function filterKeys(what: string) {
  const globs = list(
    text('a glob such as read_*').min(1, 'must be a glob such as read_*'),
    'a list of globs',
  );
  return {
    allow: globs.optional().meta({
      description: `Only ${what} that match one of these globs are listed and can be used. \`*\` matches any text, \`?\` one character. Default: all.`,
    }),
    deny: globs.optional().meta({
      description: `No ${what} that match one of these globs are listed or can be used. Takes precedence over \`allow\`.`,
    }),
  };
}

function renameKey(what: string) {
  return z
    .record(z.string(), text('a name').regex(NAME, { error: NAME_ERROR }), {
      error: 'must be a map of old names to new ones',
    })
    .superRefine((names, context) => {
      const taken = new Map<string, string>();
      for (const [old, name] of Object.entries(names)) {
        const other = taken.get(name);
        if (other !== undefined) {
          const message = `${jsonText(name)} is the new name of ${other} too: must be another name`;
          context.addIssue({ code: 'custom', path: [old], message });
        }
        taken.set(name, old);
      }
    })
    .optional()
    .meta({ description: `New names of ${what}. The keys are the names that the server uses.` });
}

const words = {
  title: text('a title').optional().describe('Replaces the title.'),
  description: text('a description').optional().describe('Replaces the description.'),
};

const json = z
  .unknown()
  .refine(isJson, { error: 'must be a value of JSON: no infinite number, no date' });

const argument = section({
  value: json.optional().describe('Value that the server always gets, whatever the client sends.'),
  default: json.optional().meta({
    description: 'Value that the server gets when the client does not send the argument.',
  }),
}).superRefine((rule, context) => {
  if ((rule.value === undefined) !== (rule.default === undefined)) return;
  const there = rule.value === undefined ? 'neither value nor default' : 'both value and default';
  const message = `has ${there}: must have one of the two`;
  context.addIssue({ code: 'custom', message });
});

const hint = (what: string) => flag().optional().meta({ description: what });

const toolOverride = section({
  ...words,
  annotations: section({
    title: text('a title').optional().describe('Display title.'),
    readOnlyHint: hint('The tool changes nothing.'),
    destructiveHint: hint('The tool may delete or overwrite something.'),
    idempotentHint: hint('A second call with the same arguments has no further effect.'),
    openWorldHint: hint('The tool interacts with external systems.'),
  })
    .optional()
    .meta({
      description:
        'Replaces single annotations of the tool. The other ones stay as the server sent them.',
    }),
  arguments: z
    .record(z.string(), argument, { error: 'must be a map of argument names' })
    .optional()
    .meta({
      description: 'Arguments that are hidden from clients: with a fixed value or with a default.',
    }),
  timeout: duration(1).optional().meta({
    description:
      'Longest time that a call of this tool may run without a response or progress. Replaces `timeouts.request` of the server.',
  }),
  concurrency: integer(1, 100_000).optional().meta({
    description: 'Calls of this tool that may run at the same time.',
  }),
});

/** Replacements for what the server says about a prompt. */
export type EntryOverride = KeyOptions<typeof words>;

/** The same for a tool, and how it is called. */
export type ToolOverride = Options<typeof toolOverride>;

function overridesKey<Schema extends z.ZodType>(what: string, override: Schema) {
  return z
    .record(z.string(), override, { error: `must be a map of names of ${what}` })
    .optional()
    .meta({
      description: `Changes to single ${what}. The keys are the names that the server uses.`,
    });
}

/** `tools`, `prompts` and `resources`, as keys of a `section`. */
export const shapingKeys = {
  tools: section({
    ...filterKeys('tools'),
    rename: renameKey('tools'),
    overrides: overridesKey('tools', toolOverride),
  })
    .optional()
    .meta({ description: 'Which tools clients see, and how.' }),
  prompts: section({
    ...filterKeys('prompts'),
    rename: renameKey('prompts'),
    overrides: overridesKey('prompts', section(words)),
  })
    .optional()
    .meta({ description: 'Which prompts clients see, and how.' }),
  resources: section(filterKeys('resources (by URI) and templates (by text)'))
    .optional()
    .meta({ description: 'Which resources clients see.' }),
};

/** The options of one level about a server. */
export type ShapingOptions = KeyOptions<typeof shapingKeys>;

/**
 * `shape` of an endpoint: what it shows of each of its servers, in addition to the options of their entries.
 */
export const shapeSchema = z
  .record(z.string(), section(shapingKeys), { error: 'must be a map of server names' })
  .meta({
    description:
      'Which tools, prompts and resources of each server this endpoint shows. The keys are server names. It applies after the options of the server itself.',
  });

function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint';
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  return isPlain && Object.values(value).every(isJson);
}
