// Which addresses are called. With `allowPrivate: false` the decision is about the address that is
// dialled, so that a name can't be public when it is looked at and private when it is called
// (docs/reliability.md#d06).
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress } from '../../base/public-address.ts';
import { AccessFailure } from './access-failure.ts';

export type Connector = buildConnector.connector;

/** Who may be called. */
export interface DialPolicy {
  /** Whether addresses that are not public may be. */
  readonly allowPrivate: boolean;
  /** Looks up names. */
  readonly resolve?: LookupFunction | undefined;
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
  if (allowPrivate) return buildConnector({ ...options, lookup: resolve } as typeof options);
  const refusal = (): AccessFailure =>
    new AccessFailure(`${subject} has no public address, and allowPrivate is false.`);
  const connect = buildConnector({
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
