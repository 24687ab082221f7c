// Texts that only this gateway can make and read: authenticated encryption with keys that are given, or
// with a random one. What is sealed for one purpose opens for no other. Which key sealed a text stands in
// front, so that a text of somebody else's costs a look at a few bytes.
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
  /** Says nothing of the key. */
  readonly id: Buffer;
  readonly bytes: Buffer;
}

/** Seals and opens texts. */
export class Sealer {
  /** Names the purpose, and stands in front of what is sealed. */
  readonly #purpose: string;
  readonly #associated: Buffer;
  /** The first seals; all of them open, so that keys can be rotated. */
  readonly #keys: readonly SealingKey[];

  /**
   * @param secrets texts that keys are made of; none: a random key that dies with the process
   */
  constructor(purpose: string, secrets: readonly string[]) {
    this.#purpose = purpose;
    this.#associated = Buffer.from(purpose);
    const all = secrets.length === 0 ? [randomBytes(KEY_BYTES)] : secrets.map(digestOf);
    this.#keys = all.map((secret) => keyFor(purpose, secret));
  }

  /** Seals a text, another way each time. */
  seal(text: string): string {
    return this.#sealWith(randomBytes(IV_BYTES), text);
  }

  /** Seals a text the same way each time, so that two sealed ones can be compared. */
  sealAlike(text: string): string {
    const mac = createHmac('sha256', this.#key.bytes).update(`${this.#purpose}.${text}`).digest();
    return this.#sealWith(mac.subarray(0, IV_BYTES), text);
  }

  /** Whether a text looks as if it was sealed for this purpose; by whom is not looked at. */
  isLike(sealed: string): boolean {
    return sealed.startsWith(`${this.#purpose}.`);
  }

  /**
   * Opens what was sealed.
   * @returns undefined when it was not made by this gateway for this purpose, or was changed
   */
  open(sealed: string): string | undefined {
    if (!this.isLike(sealed)) return undefined;
    const encoded = sealed.slice(this.#purpose.length + 1);
    const bytes = Buffer.from(encoded, 'base64url');
    if (bytes.length <= HEAD_BYTES) return undefined;
    const key = this.#keys.find(({ id }) => id.equals(bytes.subarray(0, KEY_ID_BYTES)));
    // One text for one state: base64url that decodes alike but is spelled otherwise is another one.
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

/** A key of its own for each purpose, so that none says anything of another one. */
function keyFor(purpose: string, secret: Buffer): SealingKey {
  const bytes = createHmac('sha256', secret).update(`sluice ${purpose}`).digest();
  return { bytes, id: hash('sha256', bytes, 'buffer').subarray(0, KEY_ID_BYTES) };
}
