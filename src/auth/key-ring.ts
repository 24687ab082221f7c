// The valid API keys. The file is read again when it changes. An unusable file changes nothing, so a
// half-written one locks nobody out, and accepts nobody.
import { wallClockMs } from '../base/clock.ts';
import { WatchedFiles } from '../base/watched-files.ts';
import type { Logger } from '../observe/logger.ts';
import type { Principal } from '../ports/principal.ts';
import { type ApiKeyRecord, hashApiKey, looksLikeApiKey } from './api-keys.ts';
import { KeyFileError, readKeyFile } from './key-file.ts';
import { principalKey } from './principal-key.ts';

/** The keys of one file. */
export class KeyRing {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #changed: () => void;
  #watch: WatchedFiles | undefined;
  #byHash: ReadonlyMap<string, Principal> = new Map();
  #byId: ReadonlyMap<string, Principal> = new Map();

  /**
   * @param path absolute
   * @param changed told after keys were added or revoked
   * @param before whose keys stay good as far as they are in this file too
   */
  constructor(path: string, logger: Logger, changed: () => void, before?: KeyRing) {
    this.#path = path;
    this.#logger = logger;
    this.#changed = changed;
    if (before === undefined) return;
    this.#byHash = before.#byHash;
    this.#byId = before.#byId;
  }

  /**
   * Reads the file, and begins to watch it.
   * @throws KeyFileError if the file can't be used, or has no key
   */
  open(): void {
    const keys = readKeyFile(this.#path);
    if (keys === undefined || keys.length === 0) {
      const advice = `make one with: sluice keys add --file ${this.#path} --name NAME`;
      throw new KeyFileError(`the key file ${this.#path} has no key yet: ${advice}`);
    }
    this.#take(keys);
    this.#watch = new WatchedFiles([this.#path], () => this.#reload());
  }

  close(): void {
    this.#watch?.close();
  }

  /** The principal of a key; undefined if the key is unknown or expired. */
  find(key: string): Principal | undefined {
    if (!looksLikeApiKey(key)) return undefined;
    const principal = this.#byHash.get(hashApiKey(key));
    return principal !== undefined && isFresh(principal) ? principal : undefined;
  }

  /** Whether a principal that was found before would still be found. */
  holds(principal: Principal): boolean {
    return this.#byId.get(principal.keyId ?? '') === principal && isFresh(principal);
  }

  #reload(): void {
    try {
      const keys = readKeyFile(this.#path);
      if (keys === undefined) throw new KeyFileError(`the key file ${this.#path} is gone`);
      this.#take(keys);
      this.#logger.info({ keys: keys.length }, 'API keys reloaded');
    } catch (error) {
      this.#logger.error({ err: error }, 'API keys not reloaded, the old ones stay');
      return;
    }
    this.#changed();
  }

  // An unchanged key keeps its object: open streams compare it to see whether they may stay.
  #take(keys: readonly ApiKeyRecord[]): void {
    const byHash = new Map<string, Principal>();
    const byId = new Map<string, Principal>();
    for (const record of keys) {
      const made = principalOf(record);
      const known = this.#byId.get(record.id);
      const principal =
        known !== undefined && isSame(known, made) && this.#byHash.get(record.sha256) === known
          ? known
          : made;
      byHash.set(record.sha256, principal);
      byId.set(record.id, principal);
    }
    this.#byHash = byHash;
    this.#byId = byId;
  }
}

function principalOf(record: ApiKeyRecord): Principal {
  return {
    key: principalKey('key', [record.id]),
    kind: 'key',
    name: record.name === '' ? record.id : record.name,
    keyId: record.id,
    groups: new Set(record.groups),
    scopes: new Set(record.scopes),
    ...(record.expires === undefined ? {} : { expiresAtMs: Date.parse(record.expires) }),
  };
}

function isSame(one: Principal, other: Principal): boolean {
  return (
    one.name === other.name &&
    one.expiresAtMs === other.expiresAtMs &&
    isSameSet(one.groups, other.groups) &&
    isSameSet(one.scopes, other.scopes)
  );
}

function isSameSet(one?: ReadonlySet<string>, other?: ReadonlySet<string>): boolean {
  return one !== undefined && other?.size === one.size && [...one].every((item) => other.has(item));
}

function isFresh(principal: Principal): boolean {
  return principal.expiresAtMs === undefined || principal.expiresAtMs > wallClockMs();
}
