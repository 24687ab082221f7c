// Which requests use a proxy, by HTTP_PROXY, HTTPS_PROXY and NO_PROXY. They are read like undici's
// EnvHttpProxyAgent does, so that what works for other Node programs works here.

/** An entry of NO_PROXY. */
interface Exception {
  /** Lower case, without a leading `.` or `*.`; `*` matches every host. */
  readonly host: string;
  /** 0 matches every port. */
  readonly port: number;
  /** `*.example.com` does not match example.com itself. */
  readonly isBelowOnly: boolean;
}

/** What the variables say. */
export interface ProxyRules {
  readonly http: URL | undefined;
  readonly https: URL | undefined;
  readonly exceptions: readonly Exception[];
}

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
const NAME_AND_PORT = /^\[?(.+?)\]?:(\d+)$/;

/**
 * Reads the variables. Lower case takes precedence.
 * @param environment of the process
 */
export function proxyRules(
  environment: Readonly<Record<string, string | undefined>>,
): ProxyRules | undefined {
  const value = (name: string): string | undefined =>
    environment[name] ?? environment[name.toUpperCase()];
  const http = parseProxy(value('http_proxy'));
  const https = parseProxy(value('https_proxy')) ?? http;
  if (https === undefined) return undefined;
  const exceptions = (value('no_proxy') ?? '').split(/[,\s]/).filter((entry) => entry !== '');
  return { http, https, exceptions: exceptions.map(exceptionOf) };
}

/**
 * Parses the address of a proxy.
 * @returns undefined if it is not valid
 */
export function parseProxy(text: string | undefined): URL | undefined {
  if (text === undefined || text === '') return undefined;
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return isDecodable(url.username) && isDecodable(url.password) ? url : undefined;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The proxy for a URL; undefined: connect directly. */
export function proxyFor(url: URL, rules: ProxyRules | undefined): URL | undefined {
  const proxy = url.protocol === 'https:' ? rules?.https : rules?.http;
  if (rules === undefined || proxy === undefined) return undefined;
  const host = url.hostname.replace(/^\[(.+)\]$/, '$1').replace(/^(.+)\.$/, '$1');
  const port = url.port === '' ? (PORTS[url.protocol] ?? 0) : Number(url.port);
  const isExcepted = rules.exceptions.some((one) => excepts(one, host.toLowerCase(), port));
  return isExcepted ? undefined : proxy;
}

function exceptionOf(entry: string): Exception {
  const isIpv6 = !entry.startsWith('[') && entry.indexOf(':') !== entry.lastIndexOf(':');
  const [, name, port] = isIpv6 ? [] : (NAME_AND_PORT.exec(entry) ?? []);
  const host = (name ?? entry).replace(/^\[(.+)\]$/, '$1').toLowerCase();
  return {
    host: host.replace(/^\*?\./, '').replace(/^(.+)\.$/, '$1'),
    port: Number(port ?? 0),
    isBelowOnly: entry.startsWith('*'),
  };
}

function excepts(one: Exception, host: string, port: number): boolean {
  if (one.port !== 0 && one.port !== port) return false;
  if (one.host === '*') return true;
  return host.endsWith(`.${one.host}`) || (host === one.host && !one.isBelowOnly);
}
