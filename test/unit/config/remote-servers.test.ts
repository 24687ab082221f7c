// What may be said about how the gateway comes in at a remote server.
import { expect, it } from 'vitest';
import { loadText } from '../../../src/config/load.ts';
import { checkReport } from '../../../src/config/report.ts';

const ISSUERS = `
listen: { publicUrl: "https://gw.example" }
auth:
  issuers: [{ issuer: "https://idp.example", jwksUrl: "https://idp.example/keys" }]
  allow: [{ servers: ["*"] }]
`;
const OAUTH = 'tokenUrl: "https://idp.example/token", clientId: me, clientSecret: hidden-secret';
const load = (entry: string, rest = ''): ReturnType<typeof loadText> =>
  loadText('/etc/sluice/s.yaml', `servers: { a: { url: "https://x/mcp", ${entry} } }\n${rest}`, {});

it.each([
  [
    `auth: { type: token_exchange, ${OAUTH} }`,
    ISSUERS,
    'servers.a.auth: is a token_exchange in the name of each client, but all clients share',
  ],
  [
    `sharing: session, auth: { type: token_exchange, ${OAUTH} }`,
    '',
    'servers.a.auth: exchanges the tokens of clients: must have auth.issuers',
  ],
  [
    `auth: { type: client_credentials, ${OAUTH} }, headers: { AUTHORIZATION: x }`,
    '',
    'servers.a.headers: has Authorization, which auth makes',
  ],
  [
    'auth: { type: client_credentials, tokenUrl: "http://idp.example/t", clientId: a, clientSecret: b }',
    '',
    'must be an https URL without user name, query and fragment',
  ],
  [
    'auth: { type: client_credentials, tokenUrl: "https://idp.example/t", clientId: a }',
    '',
    'servers.a.auth.clientSecret: is missing, must be a secret',
  ],
  [
    `tls: { cert: a.pem, key: a.key }, auth: { type: client_credentials, ${OAUTH}, clientAuth: certificate }`,
    '',
    'must be a secret, unless clientAuth is certificate',
  ],
  [
    'auth: { type: client_credentials, tokenUrl: "https://idp.example/t", clientId: a, clientAuth: certificate }',
    '',
    'servers.a.auth: has clientAuth: certificate, and there is none',
  ],
  ['allowPrivate: no way', '', 'must be true or false'],
  ['auth: { type: password }', '', 'must be one of client_credentials, token_exchange'],
  ['tls: { cert: a.pem }', '', 'has only one of cert and key'],
  ['url: "http://x/mcp", tls: { ca: a.pem }', '', 'is in this map twice'],
  ['headers: { A: "${principal.name}" }', ISSUERS, 'which only env of a server with a command'],
])('%s is refused', (entry, rest, text) => {
  expect(() => load(entry, rest)).toThrow(text);
});

it('certificates need an https URL', () => {
  const text = 'servers: { a: { url: "http://127.0.0.1/mcp", tls: { ca: a.pem } } }';
  expect(() => loadText('s.yaml', text, {})).toThrow('servers.a.tls: needs an https URL');
});

it('the report masks the secret and has everything else', () => {
  const entry = `sharing: principal, tls: { ca: ca.pem }, auth: { type: token_exchange, ${OAUTH}, scope: "a b", ca: idp.pem }`;
  const loaded = load(entry, ISSUERS);
  const report = checkReport(loaded);
  expect(report).not.toContain('hidden-secret');
  const again = loadText('/etc/sluice/s.yaml', report.replace('"***"', 'hidden-secret'), {});
  expect(again.config.servers).toEqual(loaded.config.servers);
  expect(loaded.config.auth?.keepsTokens).toBe(true);
  expect(load('tls: {}', ISSUERS).config.auth?.keepsTokens).toBe(false);
});
