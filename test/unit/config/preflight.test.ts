// Whether what a configuration names is there: said with line and column, before anybody comes.
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatIssue } from '../../../src/config/issues.ts';
import { load } from '../../../src/config/load.ts';
import { tempDir } from '../../support/temp-dir.ts';

const TLS = resolve(import.meta.dirname, '../../fixtures/tls');
const NODE = dirname(process.execPath);
let folder: string;

beforeEach(() => {
  folder = tempDir();
});

/** What is said of a configuration, without the path of its file. */
function look(text: string, environment: Record<string, string> = { PATH: NODE }) {
  const file = join(folder, 's.yaml');
  writeFileSync(file, text);
  const { issues, warnings } = load(file, environment, folder).preflight();
  const say = (issue: Parameters<typeof formatIssue>[0]): string =>
    formatIssue(issue).replaceAll(`${folder}/`, '').replaceAll(TLS, 'TLS');
  return { errors: issues.map(say), warnings: warnings.map(say) };
}

const server = (options: string): string => `servers:\n  a: { ${options} }\n`;
const GOOD = server('command: node');

/** A file in the folder of the configuration. */
function file(name: string, text = '', mode = 0o600): void {
  writeFileSync(join(folder, name), text);
  chmodSync(join(folder, name), mode);
}

describe('a program', () => {
  it('is found on PATH, by its path, and on the PATH that the server is given', () => {
    mkdirSync(join(folder, 'bin'));
    file('bin/tool', '#!/bin/sh\n', 0o755);
    file('my tool', '#!/bin/sh\n', 0o755);
    const nothing = { errors: [], warnings: [] };
    expect(look(GOOD)).toEqual(nothing);
    expect(look(server('command: ./bin/tool'))).toEqual(nothing);
    expect(look(server('command: ./my tool'))).toEqual(nothing);
    expect(look(server(`command: tool, env: { PATH: "${folder}/bin" }`))).toEqual(nothing);
    expect(look(server('command: inside, wrap: [node, --]'))).toEqual(nothing);
  });

  it('that is not there may come later: a warning', () => {
    const advice = 'there is no such program on PATH: install it, or write its path';
    expect(look(server('command: no-such-tool'))).toEqual({
      errors: [],
      warnings: [`s.yaml:2:17: servers.a.command: is "no-such-tool", but ${advice}`],
    });
    expect(look(server('command: node'), { PATH: '/nowhere' }).warnings).toEqual([
      `s.yaml:2:17: servers.a.command: is "node", but ${advice}`,
    ]);
    expect(look(server('command: node, wrap: [no-such-tool, --]')).warnings).toEqual([
      `s.yaml:2:30: servers.a.wrap.0: is "no-such-tool", but ${advice}`,
    ]);
    file('plain', 'text');
    for (const path of ['./plain', './gone']) {
      const { warnings } = look(server(`command: ${path}`));
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('no such file that may be run: install it, correct the path');
    }
  });

  it('with its arguments in the same text is a mistake', () => {
    expect(look(server('command: "node -e 1"'))).toEqual({
      errors: [
        's.yaml:2:17: servers.a.command: is "node -e 1", a whole command line: must be the program alone, put its arguments in args: command: node, args: [-e, 1]',
      ],
      warnings: [],
    });
  });

  it('with arguments is a mistake where the program is not there, too', () => {
    for (const line of ['no-such-tool -y pkg', 'no-such-tool pkg', './no-such-tool --stdio']) {
      expect(look(server(`command: "${line}"`)).errors.join()).toMatch(
        /a whole command line: must be the program alone, put its arguments in args: command: \S*no-such-tool, args: \[/,
      );
    }
    const path = look(server('command: "./my tools/none"'));
    expect(path.errors).toEqual([]);
    expect(path.warnings.join()).toContain('there is no such file that may be run');
  });

  it('from outside the file is not shown', () => {
    const environment = { PATH: NODE, CMD: 'node --token=geheim', TOOL: 'no-geheim-tool' };
    const all = [
      ...look(server('command: "${CMD}"'), environment).errors,
      ...look(server('command: "${TOOL}"'), environment).warnings,
    ];
    expect(all).toHaveLength(2);
    expect(all.join()).not.toContain('geheim');
  });

  it('of a host file is named where it stands', () => {
    const { warnings } = look('{"mcpServers": {\n "My Tool": {"command": "no-such-tool"}}}');
    expect(warnings[0]).toMatch(/^s\.yaml:2:25: mcpServers\."My Tool"\.command: is "no-such-tool"/);
  });
});

describe('a folder', () => {
  it('that is not there may come later: a warning', () => {
    expect(look(server('command: node, cwd: gone')).warnings).toEqual([
      's.yaml:2:28: servers.a.cwd: is gone, but there is no such folder: make it, or correct the path',
    ]);
  });

  it('of the audit log must be there', () => {
    expect(look(`${GOOD}audit: { to: logs/audit }\n`).errors).toEqual([
      's.yaml:3:14: audit.to: is logs/audit, but there is no such folder: make it, or correct the path',
    ]);
  });
});

it('the audit log must not be a symbolic link', () => {
  symlinkSync('elsewhere', join(folder, 'audit'));
  expect(look(`${GOOD}audit: { to: audit }\n`).errors).toEqual([
    's.yaml:3:14: audit.to: is audit, a symbolic link: must be the path of the file itself, or stdout',
  ]);
});

describe('the file of API keys', () => {
  const AUTH = `${GOOD}auth:\n  keys: { file: keys.json }\n  allow: [{ servers: [a] }]\n`;

  it.each([
    ['missing', undefined, 0, 'has no key yet: make one with sluice keys add --file keys.json'],
    ['empty', '{"version":1,"keys":[]}', 0o600, 'has no key yet: make one with sluice keys add'],
    ['no JSON', 'x', 0o600, 'is not JSON: restore it, or make a new one'],
    ['open to others', '{"version":1,"keys":[]}', 0o644, 'has mode 644'],
  ])('that is %s is an error', (_, text, mode, message) => {
    if (text !== undefined) file('keys.json', text, mode);
    const { errors, warnings } = look(AUTH);
    expect(warnings).toEqual([]);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/^s\.yaml:4:17: auth\.keys\.file: /);
    expect(errors[0]).toContain(message);
  });
});

describe('files of certificates', () => {
  const listen = (cert: string, key: string): string =>
    `${GOOD}listen:\n  tls: { cert: ${cert}, key: ${key} }\n`;

  it('are fine when they fit', () => {
    const { errors } = look(listen(`${TLS}/server.pem`, `${TLS}/server.key`));
    expect(errors).toEqual([]);
  });

  it('of the listener must be there, be PEM, and belong together', () => {
    file('not.pem', 'hello');
    expect(look(listen('gone.pem', 'not.pem')).errors).toEqual([
      's.yaml:4:16: listen.tls.cert: is gone.pem, but there is no such file: must be a certificate in PEM form (-----BEGIN CERTIFICATE-----)',
      's.yaml:4:31: listen.tls.key: is not.pem, but it is none: must be a private key in PEM form without a passphrase (-----BEGIN PRIVATE KEY-----)',
    ]);
    const { errors } = look(listen(`${TLS}/server.pem`, `${TLS}/alice.key`));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('is TLS/alice.key, which is not the key of the certificate');
  });

  it('of a remote server are its own affair: warnings', () => {
    const entry = 'url: "https://mcp.example.com/mcp", tls: { ca: gone.pem }';
    const { errors, warnings } = look(server(entry));
    expect(errors).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/servers\.a\.tls\.ca: is gone\.pem, but there is no such file/);
  });
});

it('a lock file that can not be used is an error', () => {
  file('s.lock.json', '{');
  const { errors } = look(GOOD);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(/^s\.yaml:1:1: s\.lock\.json: is not JSON.*restore it, or remove it/);
});
