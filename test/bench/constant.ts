// The yardstick of lists: the least that a Node program can do to send the bytes of a long list. It has
// no servers; it parses the request and writes its id in front of a constant.
//
// Usage: node constant.ts PORT
import { createServer } from 'node:http';
import { FLEET, fleetPages } from './fleet.ts';

interface Message {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: { readonly cursor?: string; readonly protocolVersion?: string };
}

const port = Number(process.argv[2]);
const [first, ...others] = fleetPages(FLEET).map((page) => Buffer.from(`,"result":${page}}`));
const last = others.at(-1) ?? first;

function answerTo({ method, params }: Message): Buffer | undefined {
  if (method === 'tools/list') return params?.cursor === undefined ? first : last;
  const serverInfo = { name: 'constant', version: '1.0.0' };
  const hello = {
    protocolVersion: params?.protocolVersion,
    capabilities: { tools: {} },
    serverInfo,
  };
  return Buffer.from(`,"result":${JSON.stringify(hello)}}`);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
    const answer = answerTo(message);
    if (message.id === undefined || answer === undefined) {
      response.writeHead(202).end();
      return;
    }
    const start = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)}`);
    const length = start.length + answer.length;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
    response.write(start);
    response.end(answer);
  });
});
process.on('SIGTERM', () => process.exit(0));
server.listen(port, '127.0.0.1');
