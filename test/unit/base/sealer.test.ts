// What is sealed for one purpose is nothing for another.
import { expect, it } from 'vitest';
import { Sealer } from '../../../src/base/sealer.ts';

const SECRET = 'a text of 32 characters or more, really';

it('B15 opens for its own purpose alone, whatever stands in front of it', () => {
  const [one, other] = [new Sealer('v1', [SECRET]), new Sealer('t1', [SECRET])];
  for (const sealed of [one.seal('text'), one.sealAlike('text')]) {
    expect(one.open(sealed)).toBe('text');
    expect(other.open(sealed)).toBeUndefined();
    expect(other.open(sealed.replace(/^v1/, 't1'))).toBeUndefined();
    expect(one.open(sealed.replace(/^v1/, 'v2'))).toBeUndefined();
  }
});

it('B15 opens in one spelling, and with every key', () => {
  const sealed = new Sealer('v1', [SECRET]).seal('text');
  const rotated = new Sealer('v1', [`another ${SECRET}`, SECRET]);
  expect(rotated.open(sealed)).toBe('text');
  for (const changed of [
    `${sealed}=`,
    `${sealed}.x`,
    ` ${sealed}`,
    sealed.slice(0, -1),
    'v1.',
    '',
  ]) {
    expect(rotated.open(changed)).toBeUndefined();
  }
});

it('a text of another key costs no look inside', () => {
  const sealed = new Sealer('v1', [SECRET]).seal('text');
  const [key, other] = [
    new Sealer('v1', [SECRET]),
    new Sealer('v1', ['another secret, as long as the first']),
  ];
  const id = (text: string): string =>
    Buffer.from(text.slice(3), 'base64url').toString('hex', 0, 4);
  expect(id(key.seal('other text'))).toBe(id(sealed));
  expect(id(other.seal('text'))).not.toBe(id(sealed));
  expect(id(new Sealer('t1', [SECRET]).seal('text'))).not.toBe(id(sealed));
});
