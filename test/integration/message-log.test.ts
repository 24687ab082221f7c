/**
 * `log.messages`: each message that passes is seen in the log by its envelope; bodies only at trace, and
 * there nothing that came from a secret.
 */
import { describe, expect, it } from 'vitest';
import type { LogLine } from '../support/gateway.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';

const SECRET = 'a-secret-of-thirty-two-characters';

const messageLines = (lines: readonly LogLine[]): LogLine[] =>
  lines.filter(({ msg }) => msg === 'message');

describe.each(['info', 'trace'])('at level %s', (level) => {
  const server = scriptedServer();
  const harness = useGateway(() => ({
    servers: {
      one: {
        ...server.config,
        env: {
          ...(server.config['env'] as Record<string, string> | undefined),
          TOKEN: '${SLUICE_SECRET}',
        },
      },
    },
    log: { level, messages: true },
    env: { SLUICE_SECRET: SECRET },
  }));

  it('a call is logged on its way from the client, to the server and back', async () => {
    const session = await harness.session();
    await session.call('echo', { text: SECRET });
    const lines = messageLines(harness.gateway.logs());
    expect(lines).toContainEqual(
      expect.objectContaining({
        direction: 'from_client',
        kind: 'request',
        method: 'tools/call',
        endpoint: '/servers/one',
      }),
    );
    for (const direction of ['to_server', 'from_server']) {
      expect(lines).toContainEqual(expect.objectContaining({ direction, server: 'one' }));
    }
    expect(JSON.stringify(lines)).not.toContain(SECRET);
    expect(lines.some(({ body }) => body !== undefined)).toBe(level === 'trace');
  });
});
