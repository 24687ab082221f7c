// Texts that only this gateway can make and read: authenticated encryption with the given keys, or with a
// random one. What is sealed for one purpose can't be opened for another. A sealed text begins with the id of
// its key, so a foreign text is recognized by its first bytes.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  randomBytes,
} from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = KEY_ID_BYTES + IV_BYTES + TAG_BYTES;
const KEY_BYTES = 32;

interface SealingKey {
  /** Reveals nothing about the key. */
  readonly id: Buffer;
  readonly bytes: Buffer;
}

/** Seals and opens texts. */
export class Sealer {
  /** The name of the purpose, which begins every sealed text. */
  readonly #purpose: string;
  readonly #associated: Buffer;
  /** The first one seals, all of them open, so that keys can be rotated. */
  readonly #keys: readonly SealingKey[];

  /** @param secrets texts that keys are derived from; none: a random key that ends with the process */
  constructor(purpose: string, secrets: readonly string[]) {
    this.#purpose = purpose;
    this.#associated = Buffer.from(purpose);
    const all = secrets.length === 0 ? [randomBytes(KEY_BYTES)] : secrets.map(digestOf);
    this.#keys = all.map((secret) => keyFor(purpose, secret));
  }

  /** Seals a text. The result differs each time. */
  seal(text: string): string {
    return this.#sealWith(randomBytes(IV_BYTES), text);
  }

  /** Seals a text so that the result is the same each time, and two results can be compared. */
  sealAlike(text: string): string {
    const mac = createHmac('sha256', this.#key.bytes).update(`${this.#purpose}.${text}`).digest();
    return this.#sealWith(mac.subarray(0, IV_BYTES), text);
  }

  /** Whether a text has the form of one that was sealed for this purpose. Does not check who sealed it. */
  isLike(sealed: string): boolean {
    return sealed.startsWith(`${this.#purpose}.`);
  }

  /**
   * Opens a sealed text.
   * @returns undefined if it was not sealed by this gateway for this purpose, or was changed
   */
  open(sealed: string): string | undefined {
    if (!this.isLike(sealed)) return undefined;
    const encoded = sealed.slice(this.#purpose.length + 1);
    const bytes = Buffer.from(encoded, 'base64url');
    if (bytes.length <= HEAD_BYTES) return undefined;
    const key = this.#keys.find(({ id }) => id.equals(bytes.subarray(0, KEY_ID_BYTES)));
    // Only one spelling is valid: other base64url texts that decode to the same bytes are refused.
    if (key === undefined || bytes.toString('base64url') !== encoded) return undefined;
    return this.#openWith(key.bytes, bytes);
  }

  get #key(): SealingKey {
    const [key] = this.#keys;
    if (key === undefined) throw new RangeError('there is always a key');
    return key;
  }

  #sealWith(iv: Buffer, text: string): string {
    const { id, bytes: key } = this.#key;
    const cipher = createCipheriv(CIPHER, key, iv);
    cipher.setAAD(this.#associated);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    const bytes = Buffer.concat([id, iv, cipher.getAuthTag(), body]);
    return `${this.#purpose}.${bytes.toString('base64url')}`;
  }

  #openWith(key: Buffer, bytes: Buffer): string | undefined {
    const iv = bytes.subarray(KEY_ID_BYTES, KEY_ID_BYTES + IV_BYTES);
    const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(this.#associated);
    decipher.setAuthTag(bytes.subarray(HEAD_BYTES - TAG_BYTES, HEAD_BYTES));
    try {
      const body = [decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()];
      return Buffer.concat(body).toString('utf8');
    } catch {
      return undefined; // changed
    }
  }
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** A separate key for each purpose, so that none reveals anything about another one. */
function keyFor(purpose: string, secret: Buffer): SealingKey {
  const bytes = createHmac('sha256', secret).update(`sluice ${purpose}`).digest();
  return { bytes, id: hash('sha256', bytes, 'buffer').subarray(0, KEY_ID_BYTES) };
}
