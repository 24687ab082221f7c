// What a user may say about the public listener (design.md 3.2 `listen:`) and its sessions:
// the types after load, and the schemas that make them from the file.
import { isLoopbackHost } from '../base/loopback.ts';
import { byteSize, duration, flag, integer, isMap, list, section, text } from '../base/options.ts';

/** The public listener. */
export interface ListenOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Serve a host that is not loopback although nobody has to authenticate. */
  readonly allowUnauthenticated: boolean;
  /** Host names that are served besides loopback names and `host`. */
  readonly allowedHosts: readonly string[];
  /** Exact origins, `https://app.example`. */
  readonly allowedOrigins: readonly string[];
  /** Largest request body and WebSocket message, in bytes. */
  readonly maxBodyBytes: number;
  /** The address that clients use, when a proxy stands in front; its path is put before emitted paths. */
  readonly publicUrl: string | undefined;
}

/** Client sessions. */
export interface SessionOptions {
  /** A session with no request and no open stream for this long is ended. */
  readonly idleMs: number;
  /** Open sessions in all. */
  readonly max: number;
}

const host = text('an address such as 127.0.0.1').refine((value) => /^[^\s/[\]]+$/.test(value), {
  error: 'must be an address such as 127.0.0.1 or ::1, without a port or brackets',
});

const ORIGIN = 'must be an origin such as https://app.example or http://localhost:5173';
const origin = text('an origin').refine(isOrigin, { error: ORIGIN });

const PUBLIC_URL = 'must be an http or https URL without user, query or fragment';
const publicUrl = text('a URL').refine(isPublicUrl, { error: PUBLIC_URL });

const ALLOWED_HOST = 'must be a host name such as mcp.example.com or mcp.example.com:8443';
const allowedHost = text('a host name').refine((value) => /^[^\s/@*]+$/.test(value), {
  error: ALLOWED_HOST,
});

/** `listen:` */
export const listenSchema = section({
  host: host.prefault('127.0.0.1').meta({
    description: 'Address to listen on. Anything but loopback needs `allowUnauthenticated`.',
  }),
  port: integer(0, 65_535).prefault(8080).meta({
    description: 'TCP port; 0 lets the system choose.',
  }),
  allowUnauthenticated: flag().prefault(false).meta({
    description:
      'Serve an address that is not loopback although nobody has to authenticate. Needed inside a container; make sure that only trusted peers reach the port.',
  }),
  allowedHosts: list(allowedHost, 'a list of host names').prefault([]).meta({
    description: 'Values of the Host header that are served besides loopback names and `host`.',
  }),
  allowedOrigins: list(origin, 'a list of origins').prefault([]).meta({
    description: 'Origins of web pages that may call the gateway, compared exactly.',
  }),
  maxBody: byteSize(1024).prefault('4MiB').meta({
    description: 'Largest request body and WebSocket message.',
  }),
  publicUrl: publicUrl.optional().meta({
    description:
      'The address that clients use when a proxy stands in front. Its path is put before the paths that the gateway announces.',
  }),
})
  .refine((value) => isSafeHost(value.host, value.allowUnauthenticated), {
    path: ['host'],
    when: isMap,
    error:
      'is reachable from other machines and no authentication is configured: must be a loopback address such as 127.0.0.1, or set listen.allowUnauthenticated: true if only trusted peers reach the port',
  })
  .transform(
    ({ maxBody, publicUrl, ...rest }): ListenOptions => ({
      ...rest,
      maxBodyBytes: maxBody,
      publicUrl,
    }),
  );

/** `sessions:` */
export const sessionsSchema = section({
  idle: duration(1000).prefault('30m').meta({
    description: 'A session with no request and no open stream for this long is ended.',
  }),
  max: integer(1, 1_000_000).prefault(10_000).meta({ description: 'Open sessions in all.' }),
}).transform(({ idle, max }): SessionOptions => ({ idleMs: idle, max }));

// A host of a wrong type has its own issue already.
function isSafeHost(value: unknown, isAllowed: unknown): boolean {
  return typeof value !== 'string' || isAllowed === true || isLoopbackHost(value);
}

function isOrigin(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === value;
}

function isPublicUrl(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    !/[?#]/.test(value)
  );
}
