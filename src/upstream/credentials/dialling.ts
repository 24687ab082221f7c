// Which addresses are called. With `allowPrivate: false` the decision is about the address that is
// dialled, so that a name can't be public when it is looked at and private when it is called
// (docs/reliability.md#d06).
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import { type Connector, createConnector, type ProxyUse } from '../../base/http-pool.ts';
import { type ProxyRules, parseProxy, proxyFor } from '../../base/proxies.ts';
import { isPublicAddress } from '../../base/public-address.ts';
import { type HttpFailure, notCalled } from './http-failure.ts';

/** Who may be called. */
export interface DialPolicy {
  /** Whether addresses that are not public may be. */
  readonly allowPrivate: boolean;
  /** The proxy that is used whatever the environment says; `none` is none. */
  readonly proxy?: string | undefined;
  /** What the environment says. */
  readonly proxies?: ProxyRules | undefined;
  /** Looks up names. */
  readonly resolve?: LookupFunction | undefined;
}

/**
 * The proxy that is between, if there is one. What may only be at public addresses is looked up here, and
 * the proxy is asked for the address: a name could mean another one to it.
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
 * Opens connections to whom the policy allows.
 * @param options of the connections
 * @param subject what is called, to be followed by what is wrong with its address
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
    // Nobody looks up what is an address already.
    const host = to.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !isPublicAddress(host)) callback(refusal(), null);
    else connect(to, callback);
  };
}

/** Looks up names, and keeps the public ones of their addresses: only these can be dialled. */
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
