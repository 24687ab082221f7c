// What is called through a proxy: remote servers, token endpoints and keys of issuers; and what is not.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { createLocalJWKSet } from 'jose';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IssuerKeys } from '../../../../src/auth/issuer-keys.ts';
import { proxyRules } from '../../../../src/base/proxies.ts';
import { createLogger } from '../../../../src/observe/logger.ts';
import type { DialPolicy } from '../../../../src/upstream/credentials/dialling.ts';
import type { OAuthOptions, RemoteTarget } from '../../../../src/upstream/credentials/options.ts';
import { requestToken } from '../../../../src/upstream/credentials/token-request.ts';
import { ProxyServer } from '../../../support/proxy-server.ts';
import { getRemote } from '../../../support/remote-get.ts';
import { RemoteServer } from '../../../support/remote-server.ts';
import { TokenEndpoint } from '../../../support/token-endpoint.ts';
import { TokenIssuer } from '../../../support/token-issuer.ts';

const HIDDEN = 'http://mcp.invalid/mcp?key=1';
const PUBLIC = '203.0.114.7';
const TLS = join(import.meta.dirname, '../../../fixtures/tls');
const logger = createLogger({ level: 'fatal', messages: false });
const remote = await RemoteServer.start();
const tokens = await TokenEndpoint.start();
const issuer = await TokenIssuer.start();
const secure = createServer(
  { cert: readFileSync(join(TLS, 'server.pem')), key: readFileSync(join(TLS, 'server.key')) },
  (_, response) => response.writeHead(204).end(),
).listen(0, '127.0.0.1');
const securePort = (): number => (secure.address() as { readonly port: number }).port;
let proxy: ProxyServer;

beforeEach(async () => {
  remote.requests.length = 0;
  proxy = await ProxyServer.start();
  proxy.hosts.set('mcp.invalid:80', remote.port);
});
afterEach(() => proxy.close());
afterAll(async () => {
  secure.closeAllConnections();
  secure.close();
  await Promise.all([remote.close(), tokens.stop(), issuer.stop()]);
});

interface Call {
  readonly environment?: Record<string, string>;
  readonly target?: Partial<RemoteTarget>;
  readonly resolve?: LookupFunction;
}

async function get(url: string, { environment = {}, target, resolve }: Call): Promise<number> {
  const whole = {
    url,
    headers: { authorization: 'Bearer x' },
    headerTemplates: {},
    allowPrivate: true,
    tls: { ca: join(TLS, 'server.pem') },
    ...target,
  } as unknown as RemoteTarget;
  const network = { proxies: proxyRules(environment), resolve };
  return await getRemote(whole, network);
}

describe('a remote server', () => {
  it('that only the proxy can find is called through it, as the environment says', async () => {
    expect(await get(HIDDEN, { environment: { HTTP_PROXY: proxy.url } })).toBe(405);
    expect(proxy.targets).toEqual([`GET ${HIDDEN}`]);
    expect(remote.requests[0]).toMatchObject({ path: '/mcp?key=1' });
    expect(remote.requests[0]?.headers).toMatchObject({ host: 'mcp.invalid' });
    expect(remote.requests[0]?.headers.authorization).toBe('Bearer x');
  });

  it('at an https URL is called through a tunnel, with its certificate checked', async () => {
    const environment = { HTTPS_PROXY: proxy.url };
    expect(await get(`https://localhost:${securePort()}/`, { environment })).toBe(204);
    expect(proxy.targets).toEqual([`CONNECT localhost:${securePort()}`]);
    // Nothing of the request is told to the proxy.
    expect(JSON.stringify(proxy.requests)).not.toContain('Bearer');
    proxy.hosts.set('other.invalid:443', securePort());
    const other = get('https://other.invalid/', { environment });
    await expect(other).rejects.toThrow('its certificate is not trusted, or not for that name');
  });

  it('that NO_PROXY names is called directly', async () => {
    const environment = { HTTP_PROXY: proxy.url, NO_PROXY: 'localhost,127.0.0.1' };
    expect(await get(remote.url, { environment })).toBe(405);
    expect(proxy.targets).toEqual([]);
  });

  it('has a proxy of its own, whatever the environment says, or none', async () => {
    const nobody = { HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '*' };
    expect(await get(HIDDEN, { environment: nobody, target: { proxy: proxy.url } })).toBe(405);
    expect(proxy.targets).toEqual([`GET ${HIDDEN}`]);
    const environment = { HTTP_PROXY: proxy.url };
    expect(await get(remote.url, { environment, target: { proxy: 'none' } })).toBe(405);
    expect(proxy.requests).toHaveLength(1);
  });

  it.each([
    ['http', HIDDEN],
    ['https', 'https://localhost'],
  ])('is called with the user name and password of the proxy: %s', async (_, url) => {
    proxy.authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    proxy.hosts.set('localhost:443', securePort());
    const known = proxy.url.replace('//', '//me:p%40ss@');
    expect(await get(url, { environment: { HTTP_PROXY: known } })).toBeLessThan(406);
    const unknown = get(url, { environment: { HTTP_PROXY: proxy.url } });
    await expect(unknown).rejects.toThrow('its proxy wants a user name and a password (HTTP 407)');
  });

  it('is said to be out of reach for its proxy, without an address', async () => {
    proxy.refuseWith = 403;
    const refused = get('https://mcp.invalid', { environment: { HTTPS_PROXY: proxy.url } });
    await expect(refused).rejects.toThrow(/its proxy refused with HTTP 403: allow the server/);
    const gone = get(HIDDEN, { environment: { HTTP_PROXY: 'http://127.0.0.1:1' } });
    await expect(gone).rejects.toThrow(/its proxy can't be reached \(ECONNREFUSED\)/);
    await expect(gone).rejects.toMatchObject({
      failure: { reason: 'server_unavailable', outcome: 'not_sent' },
      message: expect.not.stringContaining('127.0.0.1'),
    });
  });
});

describe('with allowPrivate: false', () => {
  const found = (address: string): LookupFunction => {
    return (_, options, callback) => {
      if (options.all === true) callback(null, [{ address, family: 4 }]);
      else callback(null, address, 4);
    };
  };
  const target = { allowPrivate: false };

  it.each([
    'http://127.0.0.1:1',
    'https://10.0.0.1',
    'http://[::1]',
    'https://private.example',
    'http://private.example',
  ])('nobody is asked for %s', async (url) => {
    const environment = { HTTP_PROXY: proxy.url };
    const refused = get(url, { environment, target, resolve: found('10.0.0.1') });
    await expect(refused).rejects.toThrow('has no public address, and allowPrivate is false');
    expect(proxy.requests).toEqual([]);
  });

  it('the proxy is asked for the address that was checked', async () => {
    proxy.hosts.set(`${PUBLIC}:80`, remote.port);
    proxy.hosts.set(`${PUBLIC}:443`, securePort());
    const call = { environment: { HTTP_PROXY: proxy.url }, target, resolve: found(PUBLIC) };
    expect(await get('http://public.example/mcp', call)).toBe(405);
    expect(remote.requests[0]?.headers.host).toBe('public.example');
    expect(await get('https://localhost/', call)).toBe(204);
    expect(proxy.targets).toEqual([`CONNECT ${PUBLIC}:80`, `CONNECT ${PUBLIC}:443`]);
  });
});

it('a token endpoint is called through the proxy', async () => {
  proxy.hosts.set('auth.invalid:80', Number(new URL(tokens.url).port));
  const entry = { tokenUrl: 'http://auth.invalid/token', clientId: 'a', clientSecret: ['b'] };
  const options: OAuthOptions = {
    ...entry,
    type: 'client_credentials',
    clientAuth: 'basic',
    subjectTokenType: 'access_token',
  };
  const proofs = { secret: 'b', certificate: {}, subject: undefined };
  const ask = (policy: DialPolicy): Promise<unknown> => requestToken(options, proofs, policy);
  const proxies = proxyRules({ HTTP_PROXY: proxy.url });
  expect(await ask({ allowPrivate: true, proxies })).toMatchObject({ value: 'token-1' });
  expect(proxy.targets).toEqual(['POST http://auth.invalid/token']);
  proxy.refuseWith = 407;
  await expect(ask({ allowPrivate: true, proxies })).rejects.toThrow(
    'was not called: the proxy of its token endpoint wants a user name and a password',
  );
});

it('the keys of an issuer are fetched through the proxy', async () => {
  proxy.hosts.set('keys.invalid:80', Number(new URL(issuer.jwksUrl).port));
  const proxies = proxyRules({ HTTP_PROXY: proxy.url });
  const url = 'http://keys.invalid/jwks';
  await new IssuerKeys(url, createLocalJWKSet, logger, proxies).current();
  expect(proxy.targets).toEqual([`GET ${url}`]);
  expect(issuer.fetches).toBe(1);
});
