// Which URLs go through a proxy: whatever undici's EnvHttpProxyAgent does with the same variables.
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { describe, expect, it } from 'vitest';
import { parseProxy, proxyFor, proxyRules } from '../../../src/base/proxies.ts';

const PROXY = 'http://proxy.example:3128';

/** Whether undici asks the proxy for a URL. */
async function undiciUsesProxy(url: string, noProxy: string): Promise<boolean> {
  let isProxied = false;
  class Watched extends Agent {
    override dispatch(): boolean {
      throw new Error('direct');
    }
  }
  const factory = (origin: string | URL): Dispatcher => {
    isProxied = new URL(origin).host === new URL(PROXY).host;
    return new Watched();
  };
  const agent = new EnvHttpProxyAgent({ httpProxy: PROXY, httpsProxy: PROXY, noProxy, factory });
  await agent.request({ origin: new URL(url).origin, path: '/', method: 'GET' }).catch(() => null);
  await agent.close().catch(() => undefined);
  return isProxied;
}

const EXCEPTIONS = [
  '',
  '*',
  ' * ',
  'none.invalid,*',
  '*:80',
  'example.com',
  '.example.com',
  '*.example.com',
  'EXAMPLE.com.',
  'example.com:8080',
  'example.com:80 other.example',
  'b.example.com, c.example.com',
  'ample.com',
  '127.0.0.1',
  '::1',
  '[::1]',
  '[::1]:8080',
  'localhost',
];
const URLS = [
  'http://example.com/',
  'http://example.com./',
  'http://EXAMPLE.COM:8080/',
  'http://b.example.com/',
  'http://notexample.com/',
  'http://127.0.0.1:8080/',
  'http://[::1]:8080/',
  'http://localhost/',
];

describe.each(EXCEPTIONS)('NO_PROXY of %j', (noProxy) => {
  const rules = proxyRules({ HTTP_PROXY: PROXY, NO_PROXY: noProxy });

  it.each(URLS)('means for %s what it means to undici', async (url) => {
    expect(proxyFor(new URL(url), rules) !== undefined).toBe(await undiciUsesProxy(url, noProxy));
  });
});

describe('the environment', () => {
  const at = (url: string, environment: Record<string, string>): string | undefined =>
    proxyFor(new URL(url), proxyRules(environment))?.href;

  it('has no proxy where it names none', () => {
    expect(proxyRules({})).toBeUndefined();
    expect(proxyRules({ HTTP_PROXY: '', NO_PROXY: '*' })).toBeUndefined();
  });

  it('has one for each scheme; that for http is for https too where there is no other', () => {
    const both = { HTTP_PROXY: 'http://a:1', HTTPS_PROXY: 'http://b:2' };
    expect(at('http://x.example', both)).toBe('http://a:1/');
    expect(at('https://x.example', both)).toBe('http://b:2/');
    expect(at('https://x.example', { HTTP_PROXY: 'http://a:1' })).toBe('http://a:1/');
    expect(at('http://x.example', { HTTPS_PROXY: 'http://b:2' })).toBeUndefined();
  });

  it('counts in lower case before upper case', () => {
    const both = { http_proxy: 'http://low:1', HTTP_PROXY: 'http://up:1' };
    expect(at('http://x.example', both)).toBe('http://low:1/');
  });

  it.each([
    ['proxy.example:3128', 'http://proxy.example:3128/'],
    ['socks5://proxy.example', undefined],
    ['http://', undefined],
    ['http://u:100%@proxy.example', undefined],
  ])('of %s is the proxy %s', (text, href) => {
    expect(parseProxy(text)?.href).toBe(href);
  });
});
