// `${...}` in values: what it becomes, what is refused, what stays secret.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { interpolate } from '../../../src/config/interpolate.ts';
import { ConfigError } from '../../../src/config/issues.ts';
import { type LoadedConfig, loadText } from '../../../src/config/load.ts';
import { processTarget } from '../../support/process-target.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
  writeFileSync(join(folder, 'token'), 's3cret\n');
  writeFileSync(join(folder, 'lines'), 'a\n\n');
  writeFileSync(join(folder, 'big'), 'x'.repeat(64 * 1024 + 1));
  writeFileSync(join(folder, 'binary'), new Uint8Array([0xff]));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const environment = {
  NAME: 'value',
  EMPTY: '',
  PORT: '8099',
  YES: 'true',
  EVIL: 'x\nadmin: { port: 1 }',
};

function resolveText(text: string): ReturnType<typeof interpolate> {
  return interpolate(text, { environment, folder });
}

function read(text: string): LoadedConfig {
  return loadText(join(folder, 's.yaml'), text, environment);
}

describe('interpolation', () => {
  it.each([
    ['${NAME}', 'value'],
    ['a ${NAME} b ${NAME}', 'a value b value'],
    ['${NOPE:-default}', 'default'],
    ['${NOPE:-}', ''],
    ['${EMPTY:-default}', 'default'],
    ['${EMPTY}', ''],
    ['${NAME:-default}', 'value'],
    ['$${NAME}', '${NAME}'],
    ['$NAME $ $$ {NAME}', '$NAME $ $$ {NAME}'],
    ['${file:token}', 's3cret'],
    ['${file:lines}', 'a\n'],
  ])('%j becomes %j', (text, value) => {
    expect(resolveText(text)).toMatchObject({ value, problems: [] });
  });

  it.each([
    ['${NOPE}', 'needs the environment variable NOPE, which is not set'],
    ['${toString}', 'needs the environment variable toString, which is not set'],
    ['${NAME', 'has a ${ without }'],
    ['${}', 'must be ${NAME}'],
    ['${env:NAME}', 'must be ${NAME}'],
    ['${a-b}', 'must be ${NAME}'],
    ['${file:}', 'there is no path'],
    ['${file:nope}', 'there is no such file'],
    ['${file:big}', 'it is larger than 64 KiB'],
    ['${file:binary}', 'it is not UTF-8 text'],
    ['${file:.}', 'it is a folder'],
  ])('%j is refused', (text, problem) => {
    expect(resolveText(text).problems.join()).toContain(problem);
  });

  it('keeps what came from outside as secrets, defaults not', () => {
    expect(resolveText('${NAME}${file:token}${NOPE:-d}').secrets).toEqual(['value', 's3cret']);
  });
});

describe('interpolation in a file', () => {
  it('cannot add keys', () => {
    const { config } = read('servers: { a: { command: cat, env: { X: "${EVIL}" } } }');
    expect(processTarget(config.servers[0]).env['X']).toBe(environment.EVIL);
    expect(config.admin.port).toBe(9464);
  });

  it('gives a value the type of its option', () => {
    const { config } = read(
      'listen: { port: "${PORT}" }\nlog:\n  messages: ${YES}\nservers: { a: { command: cat, env: { P: "${PORT}" } } }',
    );
    expect(config.listen.port).toBe(8099);
    expect(config.log.messages).toBe(true);
    expect(processTarget(config.servers[0]).env['P']).toBe('8099');
  });

  it('names the place of an unset variable', () => {
    expect(() => read('servers:\n  a:\n    command: cat\n    args: [x, "${NOPE}"]')).toThrow(
      /s\.yaml:4:15: servers\.a\.args\.1: needs the environment variable NOPE/,
    );
  });

  it('never shows a value in a message', () => {
    try {
      read(
        'listen: { maxBody: "${NAME}", host: "${NAME}", publicUrl: "${NAME}" }\nservers: { a: { command: cat } }',
      );
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toContain('listen.maxBody: is a value from outside the file, must be');
      expect(String(error)).not.toContain('"value"');
    }
  });

  it('hints at the quotes that flow style needs', () => {
    expect(() => read('servers: { a: { command: ${NAME} } }')).toThrow(
      /put "\$\{\.\.\.\}" in quotes/,
    );
  });

  it('reports an unset variable once', () => {
    const text = 'listen: { port: "${NOPE}" }\nservers: { a: { command: cat } }';
    try {
      read(text);
      expect.unreachable();
    } catch (error) {
      expect(error instanceof ConfigError && error.issues).toHaveLength(1);
    }
  });

  it('leaves keys alone', () => {
    expect(() => read('servers: { a: { command: cat, "${NAME}": 1 } }')).toThrow(
      /unknown key "\$\{NAME\}"/,
    );
  });
});
