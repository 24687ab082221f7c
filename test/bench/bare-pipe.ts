// The yardstick: the least that a Node program can do to put a stdio server behind HTTP. It parses, swaps
// the id, writes, and the same back; no sessions, limits, timeouts, metrics or checks. Its cost a call is
// what `sluice` is measured against.
//
// Usage: node bare-pipe.ts PORT COMMAND ARGS...
import { spawn } from 'node:child_process';
import { createServer, type ServerResponse } from 'node:http';

interface Message {
  id?: unknown;
}
interface Waiting {
  readonly id: unknown;
  readonly response: ServerResponse;
}

const NEWLINE = 0x0a;
const [port, command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error('usage: node bare-pipe.ts PORT COMMAND ARGS...');

const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map<number, Waiting>();
let lastId = 0;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
    if (message.id === undefined) {
      response.writeHead(202).end();
    } else {
      lastId += 1;
      waiting.set(lastId, { id: message.id, response });
      message.id = lastId;
    }
    child.stdin.write(`${JSON.stringify(message)}\n`);
  });
});

function answer(line: string): void {
  const message = JSON.parse(line) as Message;
  const call = waiting.get(message.id as number);
  if (call === undefined) return;
  waiting.delete(message.id as number);
  message.id = call.id;
  call.response.writeHead(200, { 'content-type': 'application/json' });
  call.response.end(JSON.stringify(message));
}

let parts: Buffer[] = [];
child.stdout.on('data', (chunk: Buffer) => {
  let start = 0;
  for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
    const piece = chunk.subarray(start, end);
    answer((parts.length === 0 ? piece : Buffer.concat([...parts, piece])).toString());
    parts = [];
    start = end + 1;
  }
  if (start < chunk.length) parts.push(chunk.subarray(start));
});

child.on('exit', () => process.exit(1));
process.on('SIGTERM', () => {
  child.kill();
  process.exit(0);
});
server.listen(Number(port), '127.0.0.1');
