// Measures how long the first tools/list of an endpoint takes when one of its servers answers late and
// another never does. The limit is the endpoint's; what comes is printed and never judged.
import { HttpConnection } from './http-connection.ts';
import { McpClient } from './mcp-client.ts';
import { RunningSubject } from './running-subject.ts';
import { echoEntry, launchSluice } from './sluice-subjects.ts';
import type { Subject } from './subjects.ts';

const SLOW_MS = 3000;
const LIMIT = '5s';
const CALL_TIMEOUT_MS = 30_000;

/** What the lists of one client took. */
export interface ColdList {
  readonly handshakeMs: number;
  readonly firstMs: number;
  /** Once more, with nothing new to be known. */
  readonly secondMs: number;
  readonly firstBytes: number;
  readonly secondBytes: number;
}

const SUBJECT: Subject = {
  name: 'sluice-cold',
  title: 'Sluice',
  hasSessions: true,
  launch: (port, scratch) =>
    launchSluice(port, scratch, {
      servers: {
        fast: echoEntry(),
        slow: echoEntry('--list-after', String(SLOW_MS)),
        mute: echoEntry('--list-after', 'never'),
      },
      endpoints: { '/': { listTimeout: LIMIT } },
    }),
};

/**
 * Lists twice on a freshly started Sluice.
 * @param scratch a folder for generated files
 * @throws Error when it does not start or does not answer
 */
export async function measureColdList(scratch: string): Promise<ColdList> {
  const started = await RunningSubject.start(SUBJECT, scratch);
  const connection = new HttpConnection(started.target.port, CALL_TIMEOUT_MS);
  const client = new McpClient(started.target, 'echo', connection);
  try {
    const handshake = await timed(() => client.open());
    const first = await timed(() => client.perform({ payload: 'list', bytes: 1 }));
    const second = await timed(() => client.perform({ payload: 'list', bytes: 1 }));
    return {
      handshakeMs: handshake.ms,
      firstMs: first.ms,
      secondMs: second.ms,
      firstBytes: first.value,
      secondBytes: second.value,
    };
  } finally {
    await client.close();
    await started.stop();
  }
}

async function timed<T>(action: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const begin = performance.now();
  const value = await action();
  return { ms: performance.now() - begin, value };
}

/** In words. */
export function coldListText(list: ColdList): string {
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  return [
    `  one server answers its list after ${SLOW_MS} ms, one never; listTimeout ${LIMIT}`,
    `  handshake    ${ms(list.handshakeMs)}`,
    `  first list   ${ms(list.firstMs)}, ${list.firstBytes} bytes`,
    `  second list  ${ms(list.secondMs)}, ${list.secondBytes} bytes`,
  ].join('\n');
}
