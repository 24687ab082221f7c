// Clients that come with a certificate, and whose connection is older than its end.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Authenticator, type Identity } from '../../../src/auth/authenticator.ts';
import type { AuthOptions } from '../../../src/auth/options.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import type { Principal } from '../../../src/ports/principal.ts';

const NOW_MS = 1_800_000_000_000;
const authenticator = new Authenticator(
  {
    issuers: [],
    certificates: [{ san: 'DNS:*.example', groups: ['g'] }],
  } as unknown as AuthOptions,
  createLogger({ level: 'fatal', messages: false }),
  () => undefined,
);

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS });
});
afterEach(() => {
  vi.useRealTimers();
});

function identify(expiresAtMs: number, name = 'DNS:a.example'): Identity | undefined {
  const certificate = { names: [name], expiresAtMs };
  return authenticator.identify(
    { authorization: undefined, apiKey: undefined, certificate },
    new Set(),
  );
}

it('G08 are let in until it is over, and hold nothing open after that', () => {
  const principal = identify(NOW_MS + 1_000) as Principal;
  expect(principal).toMatchObject({ kind: 'certificate', name: 'DNS:a.example' });
  expect(identify(NOW_MS + 1_000)).toBe(principal);
  expect(authenticator.holds(principal)).toBe(true);
  vi.setSystemTime(NOW_MS + 1_000);
  expect(identify(NOW_MS + 1_000)).toBe('invalid');
  expect(authenticator.holds(principal)).toBe(false);
});

it('go on as the same with a renewed one', () => {
  const [old, renewed] = [identify(NOW_MS + 1_000), identify(NOW_MS + 9_000)] as Principal[];
  vi.setSystemTime(NOW_MS + 1_000);
  expect(renewed?.key).toBe(old?.key);
  expect(renewed && authenticator.holds(renewed)).toBe(true);
  expect(identify(NOW_MS + 9_000, 'DNS:other')).toBe('missing');
});
