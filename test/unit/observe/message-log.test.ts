import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { MessageLog } from '../../../src/observe/message-log.ts';

function logged(level: string): Record<string, unknown> {
  const lines: string[] = [];
  const logger = pino({ level }, { write: (line: string) => void lines.push(line) });
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"x","params":{"token":"hunter22"}}');
  new MessageLog(logger, new Set(['hunter2', 'hunter22', ''])).log(
    { direction: 'to_server', kind: 'request', method: 'x', id: '1', bytes },
    { server: 'files' },
  );
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '{}') as Record<string, unknown>;
}

describe('the message log', () => {
  it('says the envelope at info, and nothing of the body', () => {
    const line = logged('info');
    expect(line).toMatchObject({
      server: 'files',
      direction: 'to_server',
      kind: 'request',
      method: 'x',
      id: '1',
      bytes: 67,
    });
    expect(line).not.toHaveProperty('body');
    expect(JSON.stringify(line)).not.toMatch(/hunter2|token/);
  });

  it('says the body at trace, secrets masked', () => {
    expect(logged('trace')['body']).toContain('{"token":"***"}');
  });
});
