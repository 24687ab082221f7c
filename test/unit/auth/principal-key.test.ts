// One text for who somebody is.
import { expect, it } from 'vitest';
import { principalKey } from '../../../src/auth/principal-key.ts';

it('B06 no choice of subject or client makes two people one', () => {
  const people = [
    ['iss', 'a', 'bc'],
    ['iss', 'ab', 'c'],
    ['iss', 'abc', ''],
    ['iss', '', 'abc'],
    ['issa', '', 'bc'],
    ['iss', '1:a', 'bc'],
    ['iss', 'a2:bc', ''],
  ];
  const keys = people.map((parts) => principalKey('token', parts));
  expect(new Set(keys).size).toBe(people.length);
  expect(principalKey('key', ['x'])).not.toBe(principalKey('certificate', ['x']));
});
