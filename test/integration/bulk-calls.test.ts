/** Far more than a server has read: it goes on, and who sent that much is the one who waits. */
import { expect, it } from 'vitest';
import { useGateway } from '../support/use-gateway.ts';

/** A server whose one tool says the process id; it reads as fast as it parses. */
const SERVER = `
  const readline = require('node:readline');
  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    const say = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (method === 'initialize') {
      const serverInfo = { name: 's', version: '1' };
      say({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo });
    } else if (method === 'tools/call') {
      say({ content: [{ type: 'text', text: String(process.pid) }] });
    } else if (id !== undefined) {
      console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
    }
  });
`;

const harness = useGateway(() => ({
  servers: {
    one: {
      command: process.execPath,
      args: ['-e', SERVER],
      era: 'legacy',
      timeouts: { queue: '30s' },
    },
  },
}));

const text = (answer: unknown): unknown =>
  (answer as { result?: { content: { text: string }[] } }).result?.content[0]?.text;

it('30 calls of almost 4 MiB at once by one session cost no other session a call', async () => {
  const bulk = await harness.webSocket();
  const small = await harness.webSocket();
  const pid = text(await small.call('pid'));
  const pad = 'x'.repeat(3_900_000);
  let answered = 0;
  const count = (): void => {
    answered++;
  };
  const large = Array.from({ length: 30 }, () => bulk.call('pid', { pad }).finally(count));
  for (let at = 0; at < 20; at++) expect(text(await small.call('pid'))).toBe(pid);
  for (const answer of await Promise.all(large)) {
    if (answer.error === undefined) expect(text(answer)).toBe(pid);
    else expect(answer.error.data).toMatchObject({ reason: 'overloaded', outcome: 'not_sent' });
  }
  expect(answered).toBe(30);
  expect(text(await small.call('pid'))).toBe(pid);
});
