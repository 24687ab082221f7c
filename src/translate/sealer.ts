// Texts that only this gateway can make and read: authenticated encryption with the keys of `state.keys`,
// or with a random one. What is sealed for one purpose opens for no other.
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Seals and opens texts. */
export class Sealer {
  /** Names the purpose, and stands in front of what is sealed. */
  readonly #purpose: string;
  /** The first seals; all of them open, so that keys can be rotated. */
  readonly #keys: readonly Buffer[];

  /**
   * @param secrets texts that keys are made of; none: a random key that dies with the process
   */
  constructor(purpose: string, secrets: readonly string[]) {
    this.#purpose = purpose;
    this.#keys =
      secrets.length === 0
        ? [randomBytes(KEY_BYTES)]
        : secrets.map((secret) => createHash('sha256').update(secret).digest());
  }

  /** Seals a text, another way each time. */
  seal(text: string): string {
    return this.#sealWith(randomBytes(IV_BYTES), text);
  }

  /** Seals a text the same way each time, so that two sealed ones can be compared. */
  sealAlike(text: string): string {
    const mac = createHmac('sha256', this.#key).update(`${this.#purpose}.${text}`).digest();
    return this.#sealWith(mac.subarray(0, IV_BYTES), text);
  }

  /**
   * Opens what was sealed.
   * @returns undefined when it was not made by this gateway for this purpose, or was changed
   */
  open(sealed: string): string | undefined {
    const [purpose, encoded] = sealed.split('.', 2);
    if (purpose !== this.#purpose || encoded === undefined) return undefined;
    const bytes = Buffer.from(encoded, 'base64url');
    // One text for one state: base64url that decodes alike but is spelled otherwise is another one.
    if (
      bytes.length <= IV_BYTES + TAG_BYTES ||
      `${purpose}.${bytes.toString('base64url')}` !== sealed
    )
      return undefined;
    for (const key of this.#keys) {
      const text = this.#openWith(key, bytes);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  get #key(): Buffer {
    const [key] = this.#keys;
    if (key === undefined) throw new RangeError('there is always a key');
    return key;
  }

  #sealWith(iv: Buffer, text: string): string {
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    cipher.setAAD(Buffer.from(this.#purpose));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    const bytes = Buffer.concat([iv, cipher.getAuthTag(), body]);
    return `${this.#purpose}.${bytes.toString('base64url')}`;
  }

  #openWith(key: Buffer, bytes: Buffer): string | undefined {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES));
    decipher.setAAD(Buffer.from(this.#purpose));
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const body = bytes.subarray(IV_BYTES + TAG_BYTES);
    try {
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch {
      return undefined; // sealed with another key, or changed
    }
  }
}
