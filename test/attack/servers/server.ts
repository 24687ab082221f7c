// The MCP server that attackers share, newline-delimited JSON on stdio without an SDK. It behaves well
// unless told otherwise, and stays behind all others: its own work is not to slow the gateway.
//
// Usage: node server.ts [--hello-after MS] [--misbehave KIND]
//   --hello-after  delays its answer to `initialize`
//   --misbehave    what it does wrong: see misbehaviours.ts
import { parseArgs } from 'node:util';
import { stayBehind } from '../priority.ts';
import { answersOf, floodOf } from './misbehaviours.ts';
import { write } from './output.ts';

const NEWLINE = 0x0a;

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly uri?: string;
    readonly protocolVersion?: string;
    readonly arguments?: Arguments;
    readonly _meta?: { readonly progressToken?: unknown };
  };
}
interface Arguments {
  /** Of the answer. */
  readonly bytes?: number;
  readonly ms?: number;
}

stayBehind();
const { values: options } = parseArgs({
  options: {
    'hello-after': { type: 'string', default: '0' },
    misbehave: { type: 'string', default: '' },
  },
});
const answers = answersOf(options.misbehave);
const flood = floodOf(options.misbehave);

const TOOLS = ['echo', 'big', 'slow', 'hang', 'ask', 'read_a', 'read_b'].map((name) => {
  return { name, description: `The tool ${name}.`, inputSchema: { type: 'object' } };
});
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};

const text = (value: string): object => ({ content: [{ type: 'text', text: value }] });
/** Built once: what costs time is to be the gateway's. */
const bigTails = new Map<number, Buffer>();
let questions = 0;

/** @returns undefined when there is no answer, or not yet */
function callTool(id: string | number, name: string, args: Arguments): object | undefined {
  switch (name) {
    case 'big':
      void write(
        Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)}`), bigTail(args)]),
      );
      return undefined;
    case 'slow':
      setTimeout(() => answer(id, text('slow')), args.ms ?? 1000);
      return undefined;
    case 'hang':
      return undefined;
    case 'ask':
      ask();
      return undefined;
    default:
      return text('echo');
  }
}

function bigTail({ bytes = 1000 }: Arguments): Buffer {
  const tail =
    bigTails.get(bytes) ?? Buffer.from(`,"result":${JSON.stringify(text('x'.repeat(bytes)))}}\n`);
  bigTails.set(bytes, tail);
  return tail;
}

/** A question that belongs to the call in flight; the call ends with it or never. */
function ask(): void {
  const requestedSchema = { type: 'object', properties: { answer: { type: 'string' } } };
  questions += 1;
  const params = { message: 'Which?', requestedSchema };
  send({ jsonrpc: '2.0', id: `q${questions}`, method: 'elicitation/create', params });
}

function resultOf({ id = 0, method, params }: Message): object | undefined {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params?.protocolVersion ?? '2025-11-25',
        capabilities: CAPABILITIES,
        serverInfo: { name: 'shared', version: '1' },
      };
    case 'tools/list':
      return { tools: TOOLS };
    case 'prompts/list':
      return { prompts: [] };
    case 'resources/list':
      return { resources: [{ uri: 'file:///data/a', name: 'a' }] };
    case 'resources/templates/list':
      return { resourceTemplates: [{ uriTemplate: 'file:///data/{name}', name: 'data' }] };
    case 'resources/read':
      return { contents: [{ uri: params?.uri ?? '', text: 'x' }] };
    case 'completion/complete':
      return { completion: { values: [] } };
    case 'tools/call':
      return callTool(id, params?.name ?? '', params?.arguments ?? {});
    default:
      return {};
  }
}

function send(message: object): void {
  void write(`${JSON.stringify(message)}\n`);
}

function answer(id: string | number, result: object): void {
  send({ jsonrpc: '2.0', id, result });
}

function receive(line: Buffer): void {
  // What is big is arguments, and nothing here looks at them.
  const message = JSON.parse(line.toString('utf8')) as Message;
  const { id, method } = message;
  if (method === 'notifications/initialized') void flood?.();
  if (id === undefined || method === undefined) return;
  const own = answers[method];
  if (own !== undefined) {
    void own(id, message.params?._meta?.progressToken);
  } else if (method === 'server/discover') {
    send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  } else {
    const result = resultOf(message);
    const delayMs = method === 'initialize' ? Number(options['hello-after']) : 0;
    if (result !== undefined && delayMs > 0) setTimeout(answer, delayMs, id, result);
    else if (result !== undefined) answer(id, result);
  }
}

let parts: Buffer[] = [];
process.stdin.on('data', (chunk: Buffer) => {
  let start = 0;
  for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
    receive(Buffer.concat([...parts, chunk.subarray(start, end)]));
    parts = [];
    start = end + 1;
  }
  if (start < chunk.length) parts.push(chunk.subarray(start));
});
process.stdin.on('end', () => process.exit(0));
