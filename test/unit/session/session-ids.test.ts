// Session ids that say what another process must know.
import { describe, expect, it } from 'vitest';
import {
  credentialsDigest,
  type SessionClaims,
  SessionIds,
} from '../../../src/session/session-ids.ts';

const SECRET = 'a text of 32 characters or more, really';
const OTHER = `another: ${SECRET}`;
const CLAIMS: SessionClaims = {
  version: '2025-11-25',
  capabilities: { elicitation: { form: {} }, roots: { listChanged: true } },
  endpoint: '/servers/one',
  principal: 'key:dj5BeWyvuZlf',
  credentials: '',
  openedAtMs: 1_800_000_000_000,
};

describe('the id of a session', () => {
  it('B09 says all of it to whoever has the key, and nothing to others', () => {
    const id = new SessionIds([SECRET]).make(CLAIMS);
    expect(id).toMatch(/^s1\.[\w-]{100,}$/);
    expect(new SessionIds([SECRET]).open(id)).toEqual(CLAIMS);
    expect(new SessionIds([OTHER, SECRET]).open(id)).toEqual(CLAIMS);
    expect(new SessionIds([OTHER]).open(id)).toBeUndefined();
    expect(new SessionIds([]).open(id)).toBeUndefined();
    const text = Buffer.from(id.slice(3), 'base64url').toString('latin1');
    for (const said of ['2025', 'elicit', 'servers', 'dj5']) expect(text).not.toContain(said);
  });

  it('is sealed with the first key', () => {
    const id = new SessionIds([OTHER, SECRET]).make(CLAIMS);
    expect(new SessionIds([OTHER]).open(id)).toEqual(CLAIMS);
    expect(new SessionIds([SECRET]).open(id)).toBeUndefined();
  });

  it('B09 is another one each time', () => {
    const ids = new SessionIds([SECRET]);
    const made = Array.from({ length: 10_000 }, () => ids.make(CLAIMS));
    expect(new Set(made).size).toBe(10_000);
  });

  it('is void when any letter of it is another', () => {
    const ids = new SessionIds([SECRET]);
    const id = ids.make(CLAIMS);
    for (let at = 0; at < id.length; at++) {
      const other = id[at] === 'A' ? 'B' : 'A';
      expect(ids.open(`${id.slice(0, at)}${other}${id.slice(at + 1)}`)).toBeUndefined();
    }
    for (const changed of [`${id}=`, `${id}A`, id.slice(0, -1), 's1.', '', 'x'.repeat(100_000)]) {
      expect(ids.open(changed)).toBeUndefined();
    }
  });

  it('has at most 1 KiB of visible ASCII; what is longer is not said', () => {
    const ids = new SessionIds([SECRET]);
    const withText = (length: number): SessionClaims => ({
      ...CLAIMS,
      capabilities: { experimental: { text: 'ä'.repeat(length) } },
    });
    let most = 0;
    for (let length = 0; length < 600; length++) {
      const id = ids.make(withText(length));
      expect(id).toMatch(/^[\x21-\x7e]{43,1024}$/);
      const claims = ids.open(id);
      if (claims === undefined) {
        expect(id).toHaveLength(43);
        continue;
      }
      expect(claims).toEqual(withText(length));
      most = length;
    }
    expect(most).toBeGreaterThan(150);
    expect(ids.open(ids.make(withText(100_000)))).toBeUndefined();
  });

  it('of a revision that is not served is none', () => {
    const ids = new SessionIds([SECRET]);
    expect(ids.open(ids.make({ ...CLAIMS, version: '2024-10-07' }))).toBeDefined();
    expect(ids.open(ids.make({ ...CLAIMS, version: '2031-01-01' }))).toBeUndefined();
  });

  it('says of credentials a digest alone, and nothing where servers see none', () => {
    expect([credentialsDigest(''), credentialsDigest('  ')]).toEqual(['', '']);
    expect(credentialsDigest('{"tenant":"a"}')).toMatch(/^[\w-]{22}$/);
    expect(credentialsDigest('{"tenant":"a"}')).not.toBe(credentialsDigest('{"tenant":"b"}'));
  });
});
