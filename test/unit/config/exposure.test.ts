// Which combinations of options do not start.
import { describe, expect, it } from 'vitest';
import { ConfigError, formatIssue } from '../../../src/config/issues.ts';
import { type LoadedConfig, loadText } from '../../../src/config/load.ts';

const SERVERS = 'servers:\n  a: { command: cat }\n';
const AUTH = 'auth: { keys: { file: k.json }, allow: [{ servers: ["*"] }] }\n';
const ISSUER = '{ issuer: "https://i", jwksUrl: "https://i/keys" }';

const read = (text: string): LoadedConfig => loadText('/etc/s.yaml', text + SERVERS, {});

function faults(text: string): string {
  try {
    read(text);
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(formatIssue).join('\n');
    throw error;
  }
}

describe('A05 what other machines reach', () => {
  it.each(['0.0.0.0', '"::"', '192.168.1.1', 'example.com'])(
    '%s needs authentication, or a permission to do without',
    (host) => {
      const open = `listen: { host: ${host} }\n`;
      expect(faults(open)).toContain('or set listen.allowUnauthenticated: true');
      expect(faults(`${open}auth: none\n`)).toContain('no authentication is configured');
      expect(faults(`listen: { host: ${host}, allowUnauthenticated: true }\n`)).toBe('');
    },
  );

  it('needs encryption with authentication', () => {
    const listen = (rest: string): string => `listen: { host: 0.0.0.0, ${rest} }\n${AUTH}`;
    expect(faults(`listen: { host: 0.0.0.0 }\n${AUTH}`)).toContain('without encryption');
    expect(faults(listen('allowUnauthenticated: true'))).toContain('without encryption');
    expect(faults(listen('tls: { cert: c, key: k }'))).toBe('');
    expect(faults(listen('tlsTerminatedUpstream: true'))).toBe('');
    expect(faults(`listen: { host: 127.0.0.1 }\n${AUTH}`)).toBe('');
  });

  it('GW-158 is nothing where nothing is said', () => {
    const { config } = read('');
    expect([config.listen.host, config.admin.host]).toEqual(['127.0.0.1', '127.0.0.1']);
    expect(config.admin.allowRemote).toBe(false);
  });

  it('is refused whatever else is wrong', () => {
    const found = faults('listen: { host: 0.0.0.0, port: -1 }\nauth: some\n');
    expect(found).toContain('listen.port');
    expect(found).toContain('auth: is "some", must be none or a map');
    expect(found).toContain('without encryption');
  });
});

describe('G01 authentication', () => {
  it.each([
    ['auth: {}', 'auth.allow'],
    ['auth: { keys: { file: k } }', 'auth.allow: is missing, must be a list of rules'],
    ['auth: { keys: { file: k }, allow: [] }', 'must be a list of at least one rule'],
    ['auth: { allow: [{ servers: ["*"] }] }', 'must have keys, issuers or certificates'],
    ['auth: { issuers: [], allow: [{ servers: ["*"] }] }', 'must have keys, issuers'],
    ['auth: { keys: {}, allow: [{ servers: ["*"] }] }', 'auth.keys.file'],
    ['auth: { key: { file: k }, allow: [{ servers: ["*"] }] }', 'did you mean keys?'],
    [
      'auth: { keys: { file: k }, allow: [{ servers: [A] }] }',
      'auth.allow.0.servers.0: fits no server: must be one of a, or a pattern of them; did you mean a?',
    ],
    ['auth: true', 'auth: is true, must be none or a map'],
    ['auth:', 'auth: is empty, must be none or a map'],
    [`auth: { issuers: [${ISSUER}], allow: [{ servers: ["*"] }] }`, 'listen.publicUrl: is missing'],
    [
      'auth: { issuers: [{ issuer: "http://i", jwksUrl: "https://i" }], allow: [{ servers: ["*"] }] }',
      'must be an https URL',
    ],
    [
      'auth: { issuers: [{ issuer: "https://i", jwksUrl: "https://i", algorithms: [none] }], allow: [{ servers: ["*"] }] }',
      'must be one of RS256',
    ],
    [
      'auth: { issuers: [{ issuer: "https://i", jwksUrl: "https://i", algorithms: [HS256] }], allow: [{ servers: ["*"] }] }',
      'must be one of RS256',
    ],
    [
      'auth: { certificates: [{ san: "*" }], allow: [{ servers: ["*"] }] }',
      'needs certificates of clients',
    ],
    [
      'listen: { tls: { cert: c, key: k, clientCerts: required } }',
      'listen.tls.clientCa: is missing',
    ],
    ['listen: { trustedProxies: [10.0.0.0/33] }', 'must be an address or a range'],
    ['listen: { trustedProxies: ["*"] }', 'must be an address or a range'],
  ])('%s is refused', (text, expected) => {
    expect(faults(`${text}\n`)).toContain(expected);
  });

  it('finds its files from the folder of the configuration', () => {
    const { config } = read(
      `listen: { tls: { cert: c.pem, key: /k.pem } }\nadmin: { socket: run/a.sock }\naudit: { to: a.log }\n${AUTH}`,
    );
    expect(config.auth?.keys?.file).toBe('/etc/k.json');
    expect(config.listen.tls).toMatchObject({ cert: '/etc/c.pem', key: '/k.pem' });
    expect(config.admin.socket).toBe('/etc/run/a.sock');
    expect(config.audit.to).toBe('/etc/a.log');
  });
});
