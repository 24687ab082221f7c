// Guards of who goes on with a session that another process opened.
import type { Guard } from './guard.ts';

const STORE = 'src/session/session-store.ts';
const TAKE_UP = 'src/session/take-up.ts';
const TAKE_UP_TESTS = 'test/unit/session/take-up.test.ts';
const TAKEN_UP_TESTS = 'test/integration/taken-up-sessions.test.ts';

export const sessionGuards: readonly Guard[] = [
  {
    name: 'session/taken-up-endpoint',
    file: TAKE_UP,
    find: 'claims?.endpoint !== served.name ||',
    replace: 'claims === undefined ||',
    test: [TAKEN_UP_TESTS, 'is unknown at another endpoint'],
  },
  {
    name: 'session/taken-up-principal',
    file: TAKE_UP,
    find: '|| claims.principal !== principal.key) return undefined;',
    replace: ') return undefined;',
    test: [TAKEN_UP_TESTS, 'is unknown to anybody else'],
  },
  {
    name: 'session/taken-up-credentials',
    file: TAKE_UP,
    find: 'return claims.credentials === credentials ? claims : undefined;',
    replace: "return credentials === '?' ? undefined : claims;",
    test: [TAKE_UP_TESTS, 'other credentials'],
  },
  {
    name: 'session/taken-up-age',
    file: STORE,
    find: 'this.record.expiryOf(claims.openedAtMs) <= wallClockMs()',
    replace: 'claims.openedAtMs < 0',
    test: [TAKE_UP_TESTS, 'too old'],
  },
  {
    name: 'session/taken-up-ended',
    file: STORE,
    find: 'return isOver ? undefined : claims;',
    replace: 'return claims;',
    test: [TAKEN_UP_TESTS, 'stays ended'],
  },
];
