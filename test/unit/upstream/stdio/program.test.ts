/** E07: which file is started for a command, and what is noticed when it is another one later. */
import {
  chmodSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { Logger } from '../../../../src/observe/logger.ts';
import { findProgram, Program } from '../../../../src/upstream/stdio/program.ts';
import { tempDir } from '../../../support/temp-dir.ts';

function setUp() {
  const root = realpathSync(tempDir());
  const folder = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  };
  const write = (path: string, mode = 0o755, text = '#!/bin/sh\n'): string => {
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  const [early, late] = [folder('early'), folder('late')];
  const place = { path: `${early}:${late}`, cwd: root };
  const logger = { debug: vi.fn(), warn: vi.fn() };
  const program = (command = 'tool'): Program =>
    new Program(command, place, logger as unknown as Logger);
  return { root, folder, write, early, late, acquire: place, logger, program };
}

it('a name is looked up on PATH; what is no program is passed over (E07)', () => {
  const { write, folder, early, late, acquire: place } = setUp();
  folder('early/tool');
  write(join(early, 'other'), 0o644);
  const path = write(join(late, 'tool'));
  write(join(late, 'other'));
  expect(findProgram('tool', place)?.path).toBe(path);
  expect(findProgram('other', place)?.path).toBe(join(late, 'other'));
  expect(findProgram('third', place)).toBeUndefined();
  expect(findProgram('sh', { ...place, path: undefined })?.path).toMatch(/^\/(usr\/)?bin\/sh$/);
});

it('relative folders of PATH start at the folder of the process, never at that of the gateway (E07)', () => {
  const { root, folder, write } = setUp();
  const path = write(join(folder('bin'), 'tool'));
  expect(findProgram('tool', { path: 'bin', cwd: root })?.path).toBe(path);
  expect(findProgram('package.json', { path: '', cwd: root })).toBeUndefined();
});

it('a link is started as it is, and what it leads to is known (E07)', () => {
  const { write, early, late, acquire: place } = setUp();
  const real = write(join(late, 'multi'));
  symlinkSync(real, join(early, 'tool'));
  expect(findProgram('tool', place)).toMatchObject({
    path: join(early, 'tool'),
    realPath: real,
  });
});

it('the file that was found first is the one that is started again (E07)', () => {
  const { write, early, late, acquire: place, logger, program } = setUp();
  const path = write(join(late, 'tool'));
  const tool = program();
  write(join(early, 'tool'));
  expect(tool.locate(place)).toBe(path);
  expect(logger.warn).not.toHaveBeenCalled();
});

it.each(['replaced', 'written to', 'linked elsewhere', 'moved to another folder'])(
  'a program that was %s is started, with one warning (E07)',
  (how) => {
    const { write, early, late, acquire: place, logger, program } = setUp();
    const path = join(late, 'tool');
    if (how === 'linked elsewhere') symlinkSync(write(join(early, 'a')), path);
    else write(path);
    const tool = program();
    let expected = path;
    if (how === 'replaced') {
      renameSync(write(join(late, 'new')), path);
    } else if (how === 'written to') {
      write(path, 0o755, '#!/bin/sh\nexit 1\n');
    } else if (how === 'linked elsewhere') {
      rmSync(path);
      symlinkSync(write(join(early, 'b')), path);
    } else {
      expected = join(early, 'tool');
      renameSync(path, expected);
    }
    expect([tool.locate(place), tool.locate(place)]).toEqual([expected, expected]);
    expect(logger.warn).toHaveBeenCalledTimes(1);
  },
);

it('a program that is not there yet is looked for at each start', () => {
  const { write, late, acquire: place, logger, program } = setUp();
  const tool = program();
  expect(tool.locate(place)).toBe('tool');
  const path = write(join(late, 'tool'));
  expect(tool.locate(place)).toBe(path);
  expect(logger.warn).not.toHaveBeenCalled();
  rmSync(path);
  expect(tool.locate(place)).toBe(path);
});

it('its version is another one when an argument, or a script that one names, changes', () => {
  const { root, write, late, program } = setUp();
  write(join(late, 'tool'));
  const script = write(join(root, 'server.mjs'), 0o644, 'one');
  const tool = program();
  const version = (...args: string[]): string => tool.version(args, root);
  const before = version('server.mjs', '--fast');
  expect(version('server.mjs', '--fast')).toBe(before);
  expect(version('server.mjs')).not.toBe(before);
  const data = write(join(root, 'journal.jsonl'), 0o644, 'one');
  const withData = version('server.mjs', 'journal.jsonl');
  write(data, 0o644, 'another one');
  expect(version('server.mjs', 'journal.jsonl')).toBe(withData);
  write(script, 0o644, 'another one');
  expect(version('server.mjs', '--fast')).not.toBe(before);
  for (const odd of ['', 'x'.repeat(10_000), 'a\0b.js', 'server.mjs/x.js']) {
    expect(version(odd)).toBe(version(odd));
  }
});
