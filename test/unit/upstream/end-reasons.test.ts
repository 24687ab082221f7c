/** H05: what is said of a server that ended, to those who run the gateway and to everybody else. */
import { expect, it } from 'vitest';
import { asGatewayError, GatewayError } from '../../../src/base/errors.ts';
import { describeEnd, LastEnd } from '../../../src/upstream/end-reasons.ts';

it.each([
  ['cannot_start: ENOENT: no program "/opt/x", or no folder "/srv"', 'cannot_start'],
  ['cannot_start: EPERM: the gateway may not start processes as uid 1001', 'cannot_start'],
  ['cannot_start: it refuses the gateway (HTTP 401)', 'cannot_start'],
  ['cannot_start: spawn E2BIG', 'cannot_start'],
  ['bad_framing: Content-Length /x', 'bad_framing'],
  ['initialize was refused: {"message":"/srv"}', 'handshake'],
  ['no answer to initialize within 30000 ms', 'handshake'],
  ['exit_3', 'exit_3'],
  ['SIGKILL', 'SIGKILL'],
  ['', 'handshake'],
])('of %j others are told %s (H05)', (reason, publicReason) => {
  expect(describeEnd(reason, 'last words', false)).toBe(publicReason);
  expect(describeEnd(reason, 'last words', true)).toBe(`${reason}; it last said: last words`);
});

it('nothing is left of an end when the server is up again', () => {
  const end = new LastEnd({ common: { exposesDetails: false } });
  expect(end.text).toBe('not started yet');
  end.note('exit_1', 'in /srv');
  expect([end.text, end.publicReason]).toEqual(['exit_1; it last said: in /srv', 'exit_1']);
  end.forget();
  expect(end.text).toBeUndefined();
});

it('an error that nobody expected is told without its text, which is kept for the log (H05)', () => {
  const thrown = new Error("ENOENT: no such file or directory, open '/srv/key'");
  const publicReason = asGatewayError(thrown, 's');
  expect(publicReason.message).not.toContain('/srv');
  expect([publicReason.reason, publicReason.server, publicReason.cause]).toEqual([
    'internal',
    's',
    thrown,
  ]);
  const own = new GatewayError('overloaded', 'x', { outcome: 'not_sent' });
  expect(asGatewayError(own)).toBe(own);
});

it('no text of a server makes an end or an error long', () => {
  const long = 'x'.repeat(1_000_000);
  expect(describeEnd(`refused: ${long}`, long, true).length).toBeLessThan(1_000);
  const { message } = new GatewayError('internal', `Said ${long}.`, { outcome: 'not_sent' });
  expect(message).toMatch(/^Said x{1995}\.\.\. \(1000006 characters\)$/);
});
