// Which addresses may be connected to. With `allowPrivate: false` the address of the connection itself is
// checked. Otherwise a name could be public when it is checked, and private when it is used
// (docs/reliability.md#d06).
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import { type Connector, createConnector, type ProxyUse } from '../../base/http-pool.ts';
import { type ProxyRules, parseProxy, proxyFor } from '../../base/proxies.ts';
import { isPublicAddress } from '../../base/public-address.ts';
import { type HttpFailure, notCalled } from './http-failure.ts';

/** Which addresses are allowed, and which proxy is used. */
export interface DialPolicy {
  /** Whether private addresses are allowed. */
  readonly allowPrivate: boolean;
  /** The configured proxy; `none` for none. Overrides the environment. */
  readonly proxy?: string | undefined;
  /** The proxies of the environment. */
  readonly proxies?: ProxyRules | undefined;
  /** Resolves names. */
  readonly resolve?: LookupFunction | undefined;
}

/**
 * The proxy for a URL, if there is one. If only public addresses are allowed, the name is resolved here, and
 * the proxy is asked for the address, because the proxy could resolve the name differently.
 * @param subject as for `dialler`
 */
export function proxyUse(url: URL, policy: DialPolicy, subject: string): ProxyUse | undefined {
  const { allowPrivate, proxies, resolve = lookup as LookupFunction } = policy;
  const proxy = policy.proxy === undefined ? proxyFor(url, proxies) : parseProxy(policy.proxy);
  if (proxy === undefined || policy.proxy === 'none') return undefined;
  if (allowPrivate) return { proxy };
  const refusal = (): HttpFailure => notPublic(subject);
  return {
    proxy,
    addressOf: (host) =>
      new Promise((done, fail) => {
        if (isIP(host) !== 0) {
          if (isPublicAddress(host)) done(host);
          else fail(refusal());
          return;
        }
        publicOnly(resolve, refusal)(host, {}, (error, address) => {
          if (error === null) done(address as string);
          else fail(error);
        });
      }),
  };
}

function notPublic(subject: string): HttpFailure {
  return notCalled(`${subject} has no public address, and allowPrivate is false.`);
}

/**
 * Opens connections to allowed addresses.
 * @param options of the connections
 * @param subject of the error, followed by what is wrong with the address
 */
export function dialler(
  options: buildConnector.BuildOptions,
  { allowPrivate, resolve = lookup as LookupFunction }: DialPolicy,
  subject: string,
): Connector {
  if (allowPrivate) return createConnector({ ...options, lookup: resolve } as typeof options);
  const refusal = (): HttpFailure => notPublic(subject);
  const connect = createConnector({
    ...options,
    lookup: publicOnly(resolve, refusal),
  } as typeof options);
  return (to, callback) => {
    // An address is not resolved.
    const host = to.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !isPublicAddress(host)) callback(refusal(), null);
    else connect(to, callback);
  };
}

/** Resolves names, and returns only public addresses, so that only these can be connected to. */
export function publicOnly(resolve: LookupFunction, refusal: () => Error): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const all = Array.isArray(found) ? found : [];
      const [first, ...others] = all.filter(({ address }) => isPublicAddress(address));
      if (error !== null) callback(error, []);
      else if (first === undefined) callback(refusal() as NodeJS.ErrnoException, []);
      else if (options.all === true) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    });
  };
}
