// Messages as both ends of an interleaving see them, and the secrets by which they are told apart:
// every call carries one of its own, and a server puts it into everything it says for that call.

export interface Wire {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Reads one message. */
export function read(bytes: Buffer): Wire {
  return JSON.parse(bytes.toString('utf8')) as Wire;
}

/** Writes one message. */
export function write(message: object): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

/** All secrets in a message. */
export function secretsIn(bytes: Buffer): string[] {
  return bytes.toString('utf8').match(/<[A-Z]\d*\.\d+>/g) ?? [];
}

/** Something that must never happen. */
export function fail(what: string, detail?: unknown): never {
  throw new Error(detail === undefined ? what : `${what}: ${JSON.stringify(detail)}`);
}
