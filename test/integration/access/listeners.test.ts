/**
 * How the gateway listens: TLS with certificates that change, clients' certificates, the admin socket,
 * proxies in front, and starts that are refused.
 */
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { HttpExchange, POST_HEADERS, post } from '../../support/http-client.ts';
import { initializeRequest } from '../../support/legacy-session.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const TLS = join(import.meta.dirname, '../../fixtures/tls');
const pem = (name: string): string => readFileSync(join(TLS, name), 'utf8');

async function withGateway(
  options: Omit<Parameters<typeof startGateway>[0], 'servers'>,
  use: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway({ servers: { one: scriptedServer().config }, ...options });
  try {
    await use(gateway);
  } finally {
    await gateway.stop();
  }
}

/** The status of `initialize` over TLS; 0 when there was no connection. */
function secureStatus(gateway: Gateway, options: RequestOptions = {}): Promise<number> {
  return new Promise((resolve) => {
    const call = httpsRequest(
      `${gateway.url}/servers/one/mcp`,
      { method: 'POST', headers: POST_HEADERS, ca: pem('server.pem'), agent: false, ...options },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    call.on('error', () => resolve(0));
    call.end(JSON.stringify(initializeRequest()));
  });
}

/** The common name of the certificate that a listener shows. */
function shownName(gateway: Gateway): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(gateway.url);
    const socket = tlsConnect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
  });
}

describe('TLS', () => {
  it('follows its files, and keeps the old ones while new ones are bad', async () => {
    const folder = tempDir();
    const cert = join(folder, 'cert.pem');
    const key = join(folder, 'key.pem');
    const install = (name: string): void => {
      copyFileSync(join(TLS, `${name}.key`), key);
      copyFileSync(join(TLS, `${name}.pem`), cert);
    };
    install('server');
    await withGateway({ listen: { tls: { cert, key } } }, async (gateway) => {
      expect(gateway.url).toMatch(/^https:/);
      expect(await secureStatus(gateway)).toBe(200);
      writeFileSync(cert, 'nothing');
      await gateway.waitForLog(({ msg }) => String(msg).startsWith('certificate not reloaded'));
      expect(await shownName(gateway)).toBe('localhost');
      install('alice');
      await until(async () => (await shownName(gateway)) === 'x');
      expect(await secureStatus(gateway, { ca: pem('alice.pem') })).toBe(0);
    });
  });

  it('A10 survives handshakes that are none, and old versions', async () => {
    const tls = { cert: join(TLS, 'server.pem'), key: join(TLS, 'server.key') };
    await withGateway({ listen: { tls } }, async (gateway) => {
      const { hostname, port } = new URL(gateway.url);
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () =>
          socket.write('GET / HTTP/1.1\r\n\r\n'),
        );
        socket.on('error', () => undefined).on('close', () => resolve());
        socket.resume();
      });
      expect(await secureStatus(gateway, { servername: `${'x'.repeat(200)}.example` })).toBe(0);
      expect(await secureStatus(gateway, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).toBe(0);
      expect(await secureStatus(gateway)).toBe(200);
    });
  });

  it('G04 knows clients by certificates of its own signer, and nobody else', async () => {
    const tls = {
      cert: join(TLS, 'server.pem'),
      key: join(TLS, 'server.key'),
      clientCa: join(TLS, 'clients.pem'),
      clientCerts: 'optional',
    };
    const auth = {
      certificates: [{ san: 'URI:spiffe://example.com/*', groups: ['services'] }],
      allow: [{ who: { groups: ['services'] }, servers: ['one'] }],
    };
    await withGateway({ listen: { tls }, config: { auth } }, async (gateway) => {
      const as = (name: string): RequestOptions => ({
        cert: pem(`${name}.pem`),
        key: pem(`${name}.key`),
      });
      expect(await secureStatus(gateway, as('alice'))).toBe(200);
      expect(await secureStatus(gateway, as('mallory'))).toBe(401);
      expect(await secureStatus(gateway)).toBe(401);
      const headers = { ...POST_HEADERS, 'x-client-cert': pem('alice.pem').replaceAll('\n', '') };
      expect(await secureStatus(gateway, { headers })).toBe(401);
    });
  });
});

describe("clients' certificates", () => {
  const alice = { cert: pem('alice.pem'), key: pem('alice.key'), ca: pem('server.pem') };
  const auth = {
    certificates: [{ san: 'URI:spiffe://example.com/*', groups: ['services'] }],
    allow: [{ who: { groups: ['services'] }, servers: ['one'] }],
  };
  const tlsWith = (clientCa: string): object => ({
    cert: join(TLS, 'server.pem'),
    key: join(TLS, 'server.key'),
    clientCa,
    clientCerts: 'optional',
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'G08 are shown again on each connection of %s: no session is taken up again',
    async (version) => {
      const listen = { tls: tlsWith(join(TLS, 'clients.pem')) };
      await withGateway({ listen, config: { auth } }, async (gateway) => {
        const { hostname, port } = new URL(gateway.url);
        let session: Buffer | undefined;
        const isReused = (): Promise<boolean> =>
          new Promise((resolve, reject) => {
            const socket = tlsConnect({
              ...{ ...alice, host: hostname, port: Number(port), minVersion: version },
              ...{ maxVersion: version, ...(session === undefined ? {} : { session }) },
            });
            socket.once('error', reject).on('session', (given: Buffer) => {
              session = given;
            });
            // The answer comes after whatever the handshake had to give.
            socket.once('data', () => {
              resolve(socket.isSessionReused());
              socket.destroy();
            });
            socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
          });
        expect([await isReused(), await isReused()]).toEqual([false, false]);
      });
    },
  );

  it('G08 of a signer that is taken out end with their connections', async () => {
    const clientCa = join(tempDir(), 'clients.pem');
    copyFileSync(join(TLS, 'clients.pem'), clientCa);
    const listen = { tls: tlsWith(clientCa) };
    await withGateway({ listen, config: { auth } }, async (gateway) => {
      const { hostname, port } = new URL(gateway.url);
      const open = async (more: object): Promise<{ readonly isOver: boolean }> => {
        const state = { isOver: false };
        const socket = tlsConnect({ ca: alice.ca, host: hostname, port: Number(port), ...more });
        socket
          .on('error', () => undefined)
          .once('close', () => {
            state.isOver = true;
          });
        await new Promise((resolve) => {
          socket.once('secureConnect', resolve);
        });
        return state;
      };
      expect(await secureStatus(gateway, alice)).toBe(200);
      const [certified, other] = [await open(alice), await open({})];
      copyFileSync(join(TLS, 'mallory.pem'), clientCa);
      await until(() => certified.isOver);
      expect(other.isOver).toBe(false);
      expect(await secureStatus(gateway, alice)).toBe(401);
    });
  });
});

describe('the admin socket', () => {
  it('H04 is for its owner only, and replaces one that nobody answers on', async () => {
    const socket = join(tempDir(), 'admin.sock');
    for (let round = 0; round < 2; round++) {
      const gateway = await startGateway({
        ownProcess: true,
        servers: { one: scriptedServer().config },
        admin: { socket },
      });
      expect(gateway.adminUrl).toBe(`unix:${socket}`);
      expect(statSync(socket).mode & 0o777).toBe(0o600);
      const status = await new Promise<number>((resolve, reject) => {
        const call = httpRequest(
          { socketPath: socket, path: '/healthz', agent: false },
          (response) => {
            response.resume();
            resolve(response.statusCode ?? 0);
          },
        );
        call.on('error', reject).end();
      });
      expect(status).toBe(200);
      // A gateway that is killed leaves its socket behind.
      await gateway.kill();
    }
  });
});

describe('a proxy in front', () => {
  const announced = async (gateway: Gateway, prefix: string): Promise<string> => {
    const stream = new HttpExchange(gateway.endpoint('one', 'sse'), {
      headers: { accept: 'text/event-stream', 'x-forwarded-prefix': prefix },
    });
    const { data } = await stream.events.next();
    stream.destroy();
    return String(data).split('?')[0] ?? '';
  };

  it('that is trusted says which path it took off', async () => {
    await withGateway({ listen: { trustedProxies: ['127.0.0.0/8'] } }, async (gateway) => {
      expect(await announced(gateway, '/tools')).toBe('/tools/servers/one/messages');
      expect(await announced(gateway, '/a/b/')).toBe('/a/b/servers/one/messages');
      for (const bad of [
        '//evil.example',
        'https://evil.example',
        '/../x',
        '/a/./b',
        '/a b',
        '/%0d',
      ]) {
        expect(await announced(gateway, bad)).toBe('/servers/one/messages');
      }
    });
  });

  it('G04 that is not trusted says nothing', async () => {
    const publicUrl = 'https://gw.example/base';
    await withGateway(
      { listen: { publicUrl, trustedProxies: ['10.0.0.0/8'] } },
      async (gateway) => {
        expect(await announced(gateway, '/tools')).toBe('/base/servers/one/messages');
      },
    );
  });

  it('G04 that is not trusted does not say whose address it is', async () => {
    const keys = new TestKeys();
    keys.add('a');
    const auth = { keys: { file: keys.file }, allow: [{ servers: ['*'] }] };
    const config = { auth, limits: { failedLoginsPerMinute: 2 } };
    await withGateway({ listen: { trustedProxies: ['10.0.0.0/8'] }, config }, async (gateway) => {
      const statuses = [];
      for (const from of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) {
        const headers = { 'x-forwarded-for': from, authorization: 'Bearer wrong' };
        const exchange = post(gateway.endpoint('one'), initializeRequest(), headers);
        statuses.push((await exchange.response()).status);
      }
      expect(statuses).toEqual([401, 401, 429]);
    });
  });

  it('GW-066 G10 tells the address that failed logins are counted for', async () => {
    const keys = new TestKeys();
    keys.add('a');
    const auth = { keys: { file: keys.file }, allow: [{ servers: ['*'] }] };
    const config = { auth, limits: { failedLoginsPerMinute: 2 } };
    await withGateway({ listen: { trustedProxies: ['127.0.0.1'] }, config }, async (gateway) => {
      const status = async (from: string, authorization = 'Bearer wrong'): Promise<number> => {
        const headers = { 'x-forwarded-for': from, authorization };
        const url = gateway.endpoint('one');
        return (await post(url, initializeRequest(), headers).response()).status;
      };
      const bad = [];
      for (let at = 0; at < 4; at++) bad.push(await status(`6.6.6.${at}, 7.7.7.7`));
      expect(bad).toEqual([401, 401, 429, 429]);
      expect(await status('7.7.7.7, 8.8.8.8')).toBe(401);
      expect(await status('6.6.6.6, 7.7.7.7', `Bearer ${keys.key('a')}`)).toBe(200);
    });
  });
});

describe('A05 a start that would be unsafe', () => {
  it.each<[string, Parameters<typeof startGateway>[0]['listen'], object, string]>([
    ['on all addresses', { host: '0.0.0.0' }, {}, 'listen.host'],
    ['on all IPv6 addresses', { host: '::' }, { auth: 'none' }, 'listen.host'],
    [
      'without a key',
      {},
      { auth: { keys: { file: '/nowhere/keys.json' }, allow: [{ servers: ['*'] }] } },
      'sluice keys add --file /nowhere/keys.json',
    ],
    ['without its certificate', { tls: { cert: '/nowhere', key: '/nowhere' } }, {}, '/nowhere'],
    ['without its audit log', {}, { audit: { to: '/nowhere/audit' } }, '/nowhere/audit'],
  ])('%s ends with 1 and says what to do', async (_, listen, config, advice) => {
    const started = startGateway({
      ownProcess: advice === 'listen.host',
      servers: { one: scriptedServer().config },
      listen: { ...listen },
      config: { ...config },
    });
    await expect(started).rejects.toThrow(/"code":1/);
    await expect(started).rejects.toThrow(advice);
  });
});
