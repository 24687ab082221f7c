// Connections to one remote server, with the current content of certificate files.
import { readTextFile, UnusableFile } from '../../base/bounded-file.ts';
import { monotonicMs } from '../../base/clock.ts';
import type { Connector } from '../../base/http-pool.ts';
import { type DialPolicy, dialler } from './dialling.ts';
import { notCalled } from './http-failure.ts';
import type { RemoteTls } from './options.ts';

const CONNECT_MS = 5_000;
const MAX_PEM_BYTES = 1024 * 1024;
const LOOK_MS = 1_000;
/** How an error about the address begins. */
export const SUBJECT = "can't be called: it";

/** Opens connections with the current certificates. */
export class ReloadingConnector {
  readonly #tls: RemoteTls;
  readonly #policy: DialPolicy;
  #pem: Readonly<Record<string, string>> = {};
  #lookedMs = Number.NEGATIVE_INFINITY;
  #connector: Connector | undefined;

  constructor(tls: RemoteTls, policy: DialPolicy) {
    this.#tls = tls;
    this.#policy = policy;
  }

  connect(...[options, callback]: Parameters<Connector>): void {
    let connector: Connector;
    try {
      connector = this.#current();
    } catch (error) {
      callback(error as Error, null);
      return;
    }
    connector(options, callback);
  }

  #current(): Connector {
    const files = Object.entries(this.#tls).flatMap(([name, path]): [string, string][] =>
      path === undefined ? [] : [[name, path]],
    );
    const nowMs = monotonicMs();
    if (this.#connector !== undefined && (files.length === 0 || nowMs - this.#lookedMs < LOOK_MS)) {
      return this.#connector;
    }
    const pem = Object.fromEntries(files.map(([name, path]) => [name, readPem(name, path)]));
    const isSame = files.every(([name]) => pem[name] === this.#pem[name]);
    this.#lookedMs = nowMs;
    if (this.#connector === undefined || !isSame) {
      this.#pem = pem;
      const secured = { timeout: CONNECT_MS, allowH2: false, ...pem };
      this.#connector = dialler(secured, this.#policy, SUBJECT);
    }
    return this.#connector;
  }
}

/**
 * The gateway's own certificate and its key, as texts.
 * @throws HttpFailure if they can't be read
 */
export function ownCertificate({ cert, key }: RemoteTls): { cert?: string; key?: string } {
  if (cert === undefined || key === undefined) return {};
  return { cert: readPem('cert', cert), key: readPem('key', key) };
}

function readPem(name: string, path: string): string {
  try {
    return readTextFile(path, MAX_PEM_BYTES);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw notCalled(`can't be called: its tls.${name} can't be used, ${error.message}.`, error);
  }
}
