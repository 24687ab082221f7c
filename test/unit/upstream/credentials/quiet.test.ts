// A server that wants to be left alone (HTTP 429 with Retry-After): by those that it knows apart.
import { expect, it } from 'vitest';
import { createLogger } from '../../../../src/observe/logger.ts';
import type { Principal } from '../../../../src/ports/principal.ts';
import type { OAuthOptions, RemoteTarget } from '../../../../src/upstream/credentials/options.ts';
import { RemoteAccess } from '../../../../src/upstream/credentials/remote-access.ts';

const logger = createLogger({ level: 'fatal', messages: false });
const [ALICE, BOB]: Principal[] = [{ key: 'alice' }, { key: 'bob' }];

function accessOf(type: OAuthOptions['type'] | undefined): RemoteAccess {
  const target = {
    headerTemplates: {},
    tls: {},
    auth: type === undefined ? undefined : { type, clientSecret: undefined },
  };
  return new RemoteAccess(target as unknown as RemoteTarget, logger);
}

it.each([undefined, 'client_credentials'] as const)(
  'with auth %s all come in as one, so nobody calls it any more',
  (type) => {
    const all = accessOf(type);
    all.leaveAlone(60_000, ALICE);
    expect(all.quiet(BOB)?.reason).toBe('rate_limited');
    expect(all.quiet(undefined)?.outcome).toBe('not_sent');
  },
);

it('with a token of each client only the client whose request it was leaves it alone', () => {
  const all = accessOf('token_exchange');
  all.leaveAlone(60_000, ALICE);
  expect(all.quiet(ALICE)?.reason).toBe('rate_limited');
  expect(all.quiet(BOB)).toBeUndefined();
  all.leaveAlone(30_000, BOB);
  const lefts = [all.quiet(ALICE), all.quiet(BOB)].map((one) => one?.retryAfterMs ?? 0);
  expect(lefts[0]).toBeGreaterThan(lefts[1] ?? 0);
});
