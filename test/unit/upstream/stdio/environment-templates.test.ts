// The variables of a child that are made at its start: of files, and of the client it is for.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../../src/base/errors.ts';
import { loadText } from '../../../../src/config/load.ts';
import { createLogger } from '../../../../src/observe/logger.ts';
import type { Principal } from '../../../../src/ports/principal.ts';
import { instanceFingerprint } from '../../../../src/upstream/credential-fingerprint.ts';
import {
  principalVariables,
  renderedVariables,
} from '../../../../src/upstream/stdio/environment.ts';
import { processTarget } from '../../../support/process-target.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-env-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'token'), 'first\n');
const logger = createLogger({ level: 'fatal', messages: false });

const AUTH = `
listen: { publicUrl: "https://gw.example" }
auth:
  issuers: [{ issuer: "https://idp.example", jwksUrl: "https://idp.example/keys" }]
  allow: [{ servers: ["*"] }]
`;

function load(env: string, sharing = 'principal', auth = AUTH): ReturnType<typeof loadText> {
  const text = `servers: { a: { command: x, sharing: ${sharing}, env: ${env} } }\n${auth}`;
  return loadText(join(folder, 's.yaml'), text, { NAME: 'value' });
}

function variables(env: string, principal?: Principal): Record<string, string> {
  const { envTemplates } = processTarget(load(env).config.servers[0]);
  return renderedVariables(envTemplates, { server: 'a', principal }, logger);
}

const ANN: Principal = {
  key: 'k',
  name: 'ann',
  claims: { mail: 'ann@example.com', level: 3, 'https://x/team': 't', list: ['a'], nul: 'a\0b' },
};

describe('variables of a client', () => {
  it('are made of its name and its claims', () => {
    const env =
      '{ A: "<${principal.name}>", B: "${NAME}:${principal.claims.mail}/${principal.claims.level}", C: "${principal.claims.https://x/team}", D: "$${principal.name}" }';
    expect(variables(env, ANN)).toEqual({
      A: '<ann>',
      B: 'value:ann@example.com/3',
      C: 't',
    });
    expect(processTarget(load(env).config.servers[0]).env['D']).toBe('${principal.name}');
  });

  it.each([
    ['missing', 'is missing'],
    ['list', 'is not one text'],
    ['nul', 'has a NUL character'],
    ['toString', 'is missing'],
    ['__proto__', 'is missing'],
    ['long', 'is too long'],
  ])('need the claim: %s', (claim, why) => {
    const principal = { ...ANN, claims: { ...ANN.claims, long: 'x'.repeat(9_000) } };
    let thrown: unknown;
    try {
      variables(`{ A: "\${principal.claims.${claim}}" }`, principal);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(GatewayError);
    expect(thrown).toMatchObject({ reason: 'server_unavailable', outcome: 'not_sent' });
    expect(String(thrown)).toContain(
      `\${principal.claims.${claim}} of its client, and yours ${why}`,
    );
    expect(String(thrown)).not.toContain('xxx');
  });

  it('need a client that was verified', () => {
    expect(() => variables('{ A: "${principal.name}" }', { key: 'anonymous' })).toThrow(
      'is missing',
    );
  });

  it('need a gateway that verifies clients', () => {
    expect(() => load('{ A: "${principal.name}" }', 'principal', '')).toThrow(
      /servers\.a\.env\.A: has \$\{principal\.\.\.\}, which nobody verifies: must have auth/,
    );
  });

  it('need a process of its own, and env', () => {
    expect(() => load('{ A: "${principal.name}" }', 'shared')).toThrow(
      /servers\.a\.env: has \$\{principal\.\.\.\}, but all clients share the process/,
    );
    expect(() => load('{ A: "${principal.key}" }')).toThrow(
      /must be \$\{principal\.name\} or \$\{principal\.claims\.NAME\}/,
    );
    const elsewhere = 'servers: { a: { command: x, args: ["${principal.name}"] } }';
    expect(() => loadText('s.yaml', elsewhere, {})).toThrow(/which only env of a server/);
    const aliased = 'servers: { a: { command: x, env: { A: &a "${principal.name}" }, cwd: *a } }';
    expect(() => loadText('s.yaml', aliased, {})).toThrow(/which only env of a server/);
  });

  it('make another instance necessary when they are others, and do not show in its name', () => {
    const [server] = load('{ A: "${principal.claims.mail}" }').config.servers;
    if (server === undefined) throw new Error('no server');
    const other = { ...ANN, claims: { mail: 'bob@example.com' } };
    const same = { ...ANN, claims: { mail: 'ann@example.com', level: 4 } };
    expect(instanceFingerprint(server, same)).toBe(instanceFingerprint(server, ANN));
    expect(instanceFingerprint(server, other)).not.toBe(instanceFingerprint(server, ANN));
    expect(instanceFingerprint(server, ANN)).toMatch(/^ [\w-]{22}$/);
    const [plain] = load('{ A: "x" }').config.servers;
    expect(plain && instanceFingerprint(plain, ANN)).toBe('');
  });
});

describe('variables of files', () => {
  it('are read again, and stay as they were when they can not be', () => {
    const env = '{ T: "Bearer ${file:token}" }';
    const { envTemplates } = processTarget(load(env).config.servers[0]);
    const now = (): unknown =>
      renderedVariables(envTemplates, { server: 'a', principal: undefined }, logger);
    expect(now()).toEqual({ T: 'Bearer first' });
    writeFileSync(join(folder, 'token'), 'second\n');
    expect(now()).toEqual({ T: 'Bearer second' });
    rmSync(join(folder, 'token'));
    expect(now()).toEqual({ T: 'Bearer first' });
    writeFileSync(join(folder, 'token'), 'first\n');
  });

  it('are the values at load for everybody else', () => {
    const { config, secrets } = load('{ T: "Bearer ${file:token}" }');
    expect(processTarget(config.servers[0]).env['T']).toBe('Bearer first');
    expect([...secrets]).toEqual(['first']);
    expect(
      principalVariables(processTarget(config.servers[0]).envTemplates, {
        server: 'a',
        principal: ANN,
      }),
    ).toEqual({});
  });
});
