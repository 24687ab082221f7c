// What the file may say about what is shown.
import { describe, expect, it } from 'vitest';
import { shapeSchema } from '../../../src/catalog/shaping-options.ts';

function read(raw: unknown) {
  return shapeSchema.safeParse(raw);
}

function faults(raw: unknown): string[] {
  return (read(raw).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );
}

describe('the options', () => {
  it('are read', () => {
    const { data } = read({
      files: {
        tools: {
          allow: ['read_*'],
          deny: ['*_all'],
          rename: { read_text_file: 'read' },
          overrides: {
            read_text_file: {
              title: 'Read',
              annotations: { readOnlyHint: true },
              arguments: {
                root: { value: { path: '/data', depth: [1, null] } },
                limit: { default: 10 },
                none: { value: null },
              },
              timeout: '5s',
              concurrency: 2,
            },
          },
        },
        prompts: { overrides: { hello: { description: 'Says hello.' } } },
        resources: { deny: ['file:///secret/*'] },
      },
      remote: {},
    });
    expect(data?.['files']?.tools?.overrides?.['read_text_file']).toEqual({
      title: 'Read',
      annotations: { readOnlyHint: true },
      arguments: {
        root: { value: { path: '/data', depth: [1, null] } },
        limit: { default: 10 },
        none: { value: null },
      },
      timeout: 5_000,
      concurrency: 2,
    });
    expect(data?.['remote']).toEqual({});
  });

  it.each([
    [
      { files: { tools: { rename: { a: 'x', b: 'y', c: 'x' } } } },
      'files.tools.rename.c: "x" is the new name of a too: must be another name',
    ],
    [
      { files: { prompts: { rename: { a: 'a b' } } } },
      'files.prompts.rename.a: must be a name: 1 to 128 of A-Z, a-z, 0-9, _, - and .',
    ],
    [
      { files: { tools: { overrides: { a: { arguments: { x: {} } } } } } },
      'files.tools.overrides.a.arguments.x: has neither value nor default: must have one of the two',
    ],
    [
      { files: { tools: { overrides: { a: { arguments: { x: { value: 1, default: 2 } } } } } } },
      'files.tools.overrides.a.arguments.x: has both value and default: must have one of the two',
    ],
    [
      { files: { tools: { overrides: { a: { arguments: { x: { value: [Infinity] } } } } } } },
      'files.tools.overrides.a.arguments.x.value: must be a value of JSON: no infinite number, no date',
    ],
    [{ files: { tools: { allow: [''] } } }, 'files.tools.allow.0: must be a glob such as read_*'],
    [{ files: { tools: { allow: '*' } } }, 'files.tools.allow: must be a list of globs'],
    [{ files: { resources: { rename: {} } } }, 'files.resources: known keys: allow deny'],
  ])('%j are faulty', (raw, fault) => {
    expect(faults(raw)).toEqual([fault]);
  });
});
