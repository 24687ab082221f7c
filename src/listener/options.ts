// Options of the public listener (docs/configuration.md#listen), its sessions and limits. config/exposure.ts
// checks which combinations are safe.
import { isIP } from 'node:net';
import {
  address,
  byteSize,
  duration,
  filledText,
  flag,
  integer,
  isMap,
  isUrl,
  list,
  type Options,
  oneOf,
  secretKeys,
  section,
  text,
} from '../base/options.ts';

/** More memory than any machine needs for this. */
const MAX_HELD_BYTES = 64 * 1024 ** 3;

const ORIGIN = 'must be an origin such as https://app.example or http://localhost:5173';
const origin = text('an origin').refine(isOrigin, { error: ORIGIN });

const PUBLIC_URL = 'must be an http or https URL without user, query or fragment';
const publicUrl = text('a URL').refine((value) => isUrl(value, /[?#]/), { error: PUBLIC_URL });

const ALLOWED_HOST = 'must be a host name such as mcp.example.com or mcp.example.com:8443';
const allowedHost = text('a host name').refine((value) => /^[^\s/@*]+$/.test(value), {
  error: ALLOWED_HOST,
});

const PROXY = 'must be an address or a range such as 10.0.0.0/8';
const proxy = text('an address').refine(isAddressRange, { error: PROXY });

const tls = section({
  cert: filledText('the path of a file').meta({
    description: 'PEM file with the certificate chain. Read again when it changes.',
  }),
  key: filledText('the path of a file').describe('PEM file with the private key.'),
  clientCa: filledText('the path of a file').optional().meta({
    description: 'PEM file with the CA certificates that sign client certificates.',
  }),
  clientCerts: oneOf(['none', 'optional', 'required']).prefault('none').meta({
    description:
      'Whether clients must present a certificate. `auth.certificates` maps certificates to principals.',
  }),
}).refine((value) => value.clientCerts === 'none' || value.clientCa !== undefined, {
  path: ['clientCa'],
  when: isMap,
  error:
    'is missing: must be the file with the CA certificates for client certificates (clientCerts)',
});

/** TLS of the public listener. Paths are absolute. */
export type TlsOptions = Options<typeof tls>;

/** `listen:` */
export const listenSchema = section({
  host: address().prefault('127.0.0.1').meta({
    description:
      'Address to listen on. An address that is not loopback needs `auth` and TLS, or `allowUnauthenticated`.',
  }),
  port: integer(0, 65_535).prefault(8080).meta({
    description: 'TCP port. 0 lets the system choose a free port.',
  }),
  allowUnauthenticated: flag().prefault(false).meta({
    description:
      'Allow an address that is not loopback without authentication. Containers need it. Make sure that only trusted clients can reach the port.',
  }),
  allowedHosts: list(allowedHost, 'a list of host names').prefault([]).meta({
    description: 'Values of the `Host` header to accept, besides loopback names and `host`.',
  }),
  allowedOrigins: list(origin, 'a list of origins').prefault([]).meta({
    description: 'Origins of web pages that may call the gateway. They must match exactly.',
  }),
  maxBody: byteSize(1024).prefault('4MiB').meta({
    description: 'Largest request body, and largest WebSocket message.',
  }),
  publicUrl: publicUrl.optional().meta({
    description:
      'URL that clients use, when the gateway is behind a proxy. Its path is the prefix of all paths that the gateway announces.',
  }),
  tls: tls.optional().describe('TLS. Without it, the listener uses plain HTTP.'),
  tlsTerminatedUpstream: flag().prefault(false).meta({
    description:
      'A proxy in front of the gateway terminates TLS. Then keys and tokens may arrive over plain HTTP on an address that is not loopback.',
  }),
  trustedProxies: list(proxy, 'a list of addresses').prefault([]).meta({
    description:
      'Proxies whose `X-Forwarded-For` and `X-Forwarded-Prefix` headers are trusted: addresses, or ranges such as `10.0.0.0/8`.',
  }),
  maxConnectionsPerAddress: integer(0, 1_000_000).prefault(1_000).meta({
    description:
      'Open connections of one IPv4 address or one IPv6 /64 network. At the limit the connection that was idle for longest is closed, or the new one if none is idle. One address never gets more than half of all connections. 0 means no limit. Loopback and trusted proxies have no limit.',
  }),
});

/** The public listener. */
export type ListenOptions = Options<typeof listenSchema>;

/** `sessions:` */
export const sessionsSchema = section({
  idle: duration(1000).prefault('30m').meta({
    description:
      'A session ends after this time without a request and without an open stream. A private process of clients of 2026-07-28, which have no session, ends after this time without a request.',
  }),
  maxAge: duration(1000).prefault('24h').meta({
    description:
      'A session that is older ends as soon as it has no open stream and no call in flight.',
  }),
  max: integer(1, 1_000_000).prefault(10_000).meta({
    description:
      'Open sessions of all clients. At the limit, the session that was unused for longest ends to make room, if it has no stream and no call in flight.',
  }),
  maxPerPrincipal: integer(1, 1_000_000).prefault(50).meta({
    description:
      'Open sessions of one principal, with the same rule at the limit. Has no effect without `auth`.',
  }),
  maxInFlight: integer(1, 1_000_000).prefault(64).meta({
    description:
      'Calls in flight of one session. More calls fail with `overloaded`. At a `jsonrpc` server all POSTs of one principal count as one session.',
  }),
  keys: secretKeys(
    'Keys that encrypt the ids of sessions, 32 characters or more each. A gateway that has the key of an ' +
      'id goes on with the session after a restart. The first key encrypts, all keys decrypt: to rotate, ' +
      'put a new key first. Default: the key in `data`, or without it a random key, made at each start.',
  ),
});

/** `limits:` */
export const limitsSchema = section({
  requestsPerSecond: integer(0, 1_000_000).prefault(0).meta({
    description:
      'Requests per second of one principal. Short bursts may have twice as many. More get 429. 0 means no limit. Needs `auth`.',
  }),
  addressRequestsPerSecond: integer(0, 1_000_000).prefault(0).meta({
    description:
      'Requests per second of one IP address, counted before authentication. 0 means no limit.',
  }),
  callsPerPrincipal: integer(1, 1_000_000).prefault(256).meta({
    description: 'Calls in flight of one principal. Needs `auth`.',
  }),
  streamsPerPrincipal: integer(1, 1_000_000).prefault(100).meta({
    description: 'Open event streams and WebSockets of one principal. Needs `auth`.',
  }),
  failedLoginsPerMinute: integer(1, 1_000_000).prefault(30).meta({
    description: 'Failed authentications per minute of one IP address. More get 429.',
  }),
  heldBytes: byteSize(1024 * 1024, MAX_HELD_BYTES)
    .optional()
    .meta({
      description:
        'Bytes that the gateway may hold for all clients and servers: requests, unread responses, events for resumption, lists. One principal may use a quarter, and gets `overloaded` beyond that. When the total is reached, data of the principal that uses most is dropped. Default: an eighth of the memory that the process may use, from 32MiB to 1GiB.',
    }),
  bodyBytes: byteSize(1024 * 1024, MAX_HELD_BYTES)
    .optional()
    .meta({
      description:
        'Bytes of request bodies that are being received. More get 503. Default: `heldBytes`.',
    }),
});

/** Limits for clients. Those for a principal apply only with authentication. */
export type LimitOptions = Options<typeof limitsSchema>;

function isOrigin(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === value;
}

function isAddressRange(value: string): boolean {
  const [address = '', bits, ...more] = value.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
  );
}
