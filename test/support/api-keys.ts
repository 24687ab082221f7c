/**
 * A key file with keys that the test knows, as `sluice keys` would have written it, and changes of it.
 */
import { join } from 'node:path';
import { type ApiKeyRecord, createApiKey } from '../../src/auth/api-keys.ts';
import { writeKeyFile } from '../../src/auth/key-file.ts';
import { tempDir } from './temp-dir.ts';

type Fields = Partial<Omit<ApiKeyRecord, 'id' | 'sha256' | 'name'>>;

export class TestKeys {
  readonly file = join(tempDir(), 'keys.json');
  readonly #records = new Map<string, ApiKeyRecord>();
  readonly #secrets = new Map<string, string>();

  /** Adds a key with this name. @returns the key */
  add(name: string, fields: Fields = {}): string {
    const { id, key, sha256 } = createApiKey();
    const created = '2026-01-01T00:00:00Z';
    this.#records.set(name, { id, name, sha256, groups: [], scopes: [], created, ...fields });
    this.#secrets.set(name, key);
    this.#write();
    return key;
  }

  /** Changes what stands in the file of a key. */
  change(name: string, fields: Fields): void {
    const record = this.#records.get(name);
    if (record === undefined) throw new Error(`no key ${name}`);
    this.#records.set(name, { ...record, ...fields });
    this.#write();
  }

  revoke(name: string): void {
    this.#records.delete(name);
    this.#write();
  }

  /** The secret of a key that was added. */
  key(name: string): string {
    const key = this.#secrets.get(name);
    if (key === undefined) throw new Error(`no key ${name}`);
    return key;
  }

  /** What a client with this key sends. */
  headers(name: string): { readonly authorization: string } {
    return { authorization: `Bearer ${this.key(name)}` };
  }

  #write(): void {
    writeKeyFile(this.file, [...this.#records.values()]);
  }
}
