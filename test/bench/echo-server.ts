// The MCP server behind every subject of the benchmark: newline-delimited JSON on stdio, no SDK. Every
// answer is built once and then sent by writing the id in front of it, so that its own cost stays small.
//
// The tool `echo` answers what its arguments name: {"payload":"small"|"json"|"base64","bytes":N}.
//
// Usage: node echo-server.ts [--modern] [--list-after MS|never]
// With --modern it is of the stateless era; --list-after delays its answers to tools/list.
import { parseArgs } from 'node:util';

const NEWLINE = 0x0a;

interface Request {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly arguments?: { readonly payload?: string; readonly bytes?: number };
  };
}

const { values: options } = parseArgs({
  options: {
    modern: { type: 'boolean', default: false },
    'list-after': { type: 'string', default: '0' },
  },
});
const MODERN_VERSION = '2026-07-28';
/** Members of every result of that era. */
const COMPLETE = options.modern ? { resultType: 'complete' } : {};
const CACHE = options.modern ? { ttlMs: 0, cacheScope: 'private' } : {};

const NOT_FOUND = Buffer.from(',"error":{"code":-32601,"message":"Method not found"}}\n');
const prepared = new Map<string, Buffer>();

/** A result as the end of an answer, from the id on. */
function tail(result: object): Buffer {
  return Buffer.from(`,"result":${JSON.stringify({ ...COMPLETE, ...result })}}\n`);
}

/** Many small values of all kinds, as a database tool returns them. */
function denseRows(bytes: number): unknown[] {
  const rows: unknown[] = [];
  let size = 0;
  for (let n = 0; size < bytes; n += 1) {
    const row = { n, name: `row-${n}`, ok: n % 2 === 0, value: n * 1.5, tags: ['a', 'b', null] };
    rows.push(row);
    size += JSON.stringify(row).length + 1;
  }
  return rows;
}

function buildResult(payload: string, bytes: number): object {
  if (payload === 'json') {
    return { content: [], structuredContent: { rows: denseRows(bytes) } };
  }
  if (payload === 'base64') {
    const data = Buffer.alloc(Math.floor(bytes / 4) * 3, 'sluice').toString('base64');
    return { content: [{ type: 'image', mimeType: 'image/png', data }] };
  }
  return { content: [{ type: 'text', text: 'The quick brown fox jumps over the lazy dog.' }] };
}

function answerTo(request: Request): Buffer {
  const { method, params } = request;
  const payload = params?.arguments?.payload ?? 'small';
  const bytes = params?.arguments?.bytes ?? 0;
  const key = method === 'tools/call' ? `${payload}:${bytes}` : method;
  let answer = prepared.get(key);
  if (answer === undefined) {
    answer = buildAnswer(request, payload, bytes);
    prepared.set(key, answer);
  }
  return answer;
}

function buildAnswer(request: Request, payload: string, bytes: number): Buffer {
  switch (request.method) {
    case 'server/discover':
      if (!options.modern) return NOT_FOUND;
      return tail({ supportedVersions: [MODERN_VERSION], capabilities: { tools: {} }, ...CACHE });
    case 'initialize':
      if (options.modern) return NOT_FOUND;
      return tail({
        protocolVersion: request.params?.protocolVersion ?? '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'bench-echo', version: '1.0.0' },
      });
    case 'tools/list':
      return tail({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }], ...CACHE });
    case 'tools/call':
      return tail(buildResult(payload, bytes));
    case 'ping':
      return tail({});
    default:
      return NOT_FOUND;
  }
}

function receive(line: string): void {
  const request = JSON.parse(line) as Request;
  if (request.id === undefined) return;
  if (request.method !== 'tools/list' || options['list-after'] === '0') send(request);
  else if (options['list-after'] !== 'never') {
    setTimeout(send, Number(options['list-after']), request);
  }
}

function send(request: Request): void {
  process.stdout.cork();
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(request.id)}`);
  process.stdout.write(answerTo(request));
  process.stdout.uncork();
}

let rest: Buffer = Buffer.alloc(0);
process.stdin.on('data', (chunk: Buffer) => {
  let data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
  for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE)) {
    receive(data.toString('utf8', 0, end));
    data = data.subarray(end + 1);
  }
  rest = data;
});
process.stdin.on('end', () => process.exit(0));
