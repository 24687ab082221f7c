/** D06: with `allowPrivate: false` the address that is dialled decides, however it is written or found. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { publicOnly } from '../../../../src/upstream/credentials/dialling.ts';
import { HttpFailure } from '../../../../src/upstream/credentials/http-failure.ts';
import type { OAuthOptions, RemoteTarget } from '../../../../src/upstream/credentials/options.ts';
import { requestToken } from '../../../../src/upstream/credentials/token-request.ts';
import { getRemote } from '../../../support/remote-get.ts';
import { RemoteServer } from '../../../support/remote-server.ts';
import { TokenEndpoint } from '../../../support/token-endpoint.ts';

const PUBLIC = '203.0.114.7';
const remote = await RemoteServer.start();
const tokens = await TokenEndpoint.start();

beforeEach(() => {
  remote.requests.length = 0;
});
afterAll(() => Promise.all([remote.close(), tokens.stop()]));

const address = (text: string): LookupAddress => ({
  address: text,
  family: text.includes(':') ? 6 : 4,
});

/** A resolver that says one list of addresses after the other. */
function resolver(...answers: readonly (readonly string[])[]): LookupFunction {
  let asked = 0;
  return (_, options, callback) => {
    const found = (answers[Math.min(asked++, answers.length - 1)] ?? []).map(address);
    if (options.all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };
}

async function get(url: string, allowPrivate: boolean, resolve?: LookupFunction): Promise<number> {
  const target: RemoteTarget = {
    kind: 'remote',
    url,
    transport: 'auto',
    headers: {},
    headerTemplates: {},
    allowPrivate,
    tls: { ca: undefined, cert: undefined, key: undefined },
    auth: undefined,
  };
  return await getRemote(target, { resolve });
}

describe('a remote server', () => {
  it.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '127.1',
    '0.0.0.0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '169.254.169.254',
    'localhost',
  ])('at %s is not called (D06)', async (host) => {
    const failed = get(`http://${host}:${remote.port}/mcp`, false);
    await expect(failed).rejects.toThrow('has no public address, and allowPrivate is false');
    await expect(failed).rejects.toBeInstanceOf(HttpFailure);
    await expect(failed).rejects.toMatchObject({ failure: { outcome: 'not_sent' } });
    expect(remote.requests).toEqual([]);
  });

  it.each([
    ['rebound.example', '127.0.0.1'],
    ['rebound.example.', '127.0.0.1'],
    ['rebound.example', '::ffff:127.0.0.1'],
    ['localhost', '10.0.0.1', '::1'],
  ])('at %s, which is %s, is not called (D06)', async (name, ...found) => {
    const url = `http://${name}:${remote.port}/mcp`;
    await expect(get(url, false, resolver(found))).rejects.toThrow('has no public address');
    expect(remote.requests).toEqual([]);
  });

  it('may be anywhere by default', async () => {
    const url = `http://rebound.example:${remote.port}/mcp`;
    expect(await get(url, true, resolver(['127.0.0.1']))).toBe(405);
  });
});

describe('a name', () => {
  const look = (resolve: LookupFunction, all: boolean): Promise<unknown> =>
    new Promise((done, fail) => {
      publicOnly(resolve, () => new Error('none'))('x.example', { all }, (error, found) => {
        if (error === null) done(found);
        else fail(error);
      });
    });

  it('is dialled at its public addresses only (D06)', async () => {
    const mixed = resolver(['127.0.0.1', PUBLIC, '::1']);
    expect(await look(mixed, true)).toEqual([address(PUBLIC)]);
    expect(await look(mixed, false)).toBe(PUBLIC);
  });

  it('that was public when it was looked up before is looked at again (D06)', async () => {
    const rebinding = resolver([PUBLIC], ['127.0.0.1']);
    expect(await look(rebinding, true)).toEqual([address(PUBLIC)]);
    await expect(look(rebinding, true)).rejects.toThrow('none');
  });
});

it('the token endpoint of such a server is not called either (D06)', async () => {
  const entry = { tokenUrl: tokens.url, clientId: 'a', clientSecret: ['b'] };
  const options: OAuthOptions = {
    ...entry,
    type: 'client_credentials',
    clientAuth: 'basic',
    subjectTokenType: 'access_token',
  };
  const proofs = { secret: 'b', certificate: {}, subject: undefined };
  const refused = requestToken(options, proofs, { allowPrivate: false });
  await expect(refused).rejects.toThrow('its token endpoint has no public address');
  expect(tokens.requests).toEqual([]);
  expect(await requestToken(options, proofs, { allowPrivate: true })).toMatchObject({
    value: 'token-1',
  });
});
