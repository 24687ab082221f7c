// What servers do wrong, by name: floods from `notifications/initialized` on, and answers of their own.
import { pour, write } from './output.ts';

type Flood = () => Promise<unknown>;
/** Answers a request itself. */
type Answer = (id: string | number, progressToken: unknown) => Promise<void>;
/** By method. */
type Answers = Readonly<Record<string, Answer>>;

const CHUNK_BYTES = 65_536;
const MEBI = 1024 * 1024;

const line = (message: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const again = (text: string): string => text.repeat(Math.ceil(CHUNK_BYTES / text.length));

const FLOODS: Readonly<Record<string, Flood>> = {
  spaces: () => pour(again(`${' '.repeat(100)}\n`)),
  'crash-loop': async () => process.exit(1),
  'single-bytes': async () => {
    const text = Buffer.from(line({ method: 'notifications/message', params: { data: 'x' } }));
    for (let at = 0; ; at = (at + 1) % text.length) {
      await write(text.subarray(at, at + 1));
      // What is written together is read together.
      await new Promise(setImmediate);
    }
  },
  'large-log-messages': () =>
    pour(
      line({ method: 'notifications/message', params: { level: 'error', data: 'x'.repeat(MEBI) } }),
    ),
  newlines: () => pour('\n'.repeat(CHUNK_BYTES)),
  stderr: () => pour(again('this server writes to stderr\n'), process.stderr),
  'stderr-newlines': () => pour('\n'.repeat(CHUNK_BYTES), process.stderr),
  garbage: () => pour(again('this is no message\n')),
  'lists-changed': () =>
    pour(again(line({ method: 'notifications/tools/list_changed', params: {} }))),
  'log-messages': () =>
    pour(again(line({ method: 'notifications/message', params: { level: 'error', data: 'x' } }))),
  'unknown-progress': () =>
    pour(
      again(line({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })),
    ),
  'resources-updated': () =>
    pour(
      again(line({ method: 'notifications/resources/updated', params: { uri: 'file:///data/a' } })),
    ),
  pings: () => pour(again(line({ id: 1, method: 'ping' }))),
  questions: () =>
    pour(again(line({ id: 1, method: 'sampling/createMessage', params: { messages: [] } }))),
  'unknown-answers': () => pour(again(line({ id: 'nobody', result: {} }))),
  'endless-line': () => pour('x'.repeat(CHUNK_BYTES)),
};

const resultLine = (id: string | number, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`;

/** As many of a text as fit in so many bytes. */
const filled = (text: string, bytes: number): string =>
  Array.from({ length: Math.floor(bytes / (text.length + 1)) }, () => text).join(',');

/** One list of tools. */
const toolList = (tools: string): Answers => ({
  'tools/list': (id) => write(resultLine(id, `{"tools":[${tools}]}`)),
});
/** One answer to all calls. */
const callResult = (result: string): Answers => ({
  'tools/call': (id) => write(resultLine(id, result)),
});
const tool = (name: string, schema = '{"type":"object"}', description = ''): string =>
  `{"name":"${name}","description":"${description}","inputSchema":${schema}}`;
const tools = (count: number, one: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => one(n)).join(',');

const MOST_BYTES = 15.9 * MEBI;
const LARGE_TEXT = 'x'.repeat(15 * MEBI);
const FORM = { type: 'object', properties: { answer: { type: 'string' } } };

let questions = 0;
/** Asks what is large, twice, and never ends the call. */
async function asksTwice(method: string, params: object): Promise<void> {
  for (let n = 0; n < 2; n += 1) await write(line({ id: `large-${questions++}`, method, params }));
}

const DESCRIPTION =
  'Finds records of a collection in a system that match a query. Returns at most limit of them, newest first, with their keys, owners and times of change; an empty answer is no error.';

/** Built when the server is told to, since most of them are large. */
const ANSWERS: Readonly<Record<string, () => Answers>> = {
  'many-tools': () =>
    toolList(tools(10_000, (n) => tool(`find_records_${n}`, undefined, DESCRIPTION))),
  'list-of-empty-objects': () => toolList(filled('{}', MOST_BYTES)),
  'list-of-tools': () => toolList(tools(200_000, (n) => tool(`tool_${n}`))),
  'list-of-one-tool': () => toolList(tool('large', undefined, 'x'.repeat(15 * MEBI))),
  'list-of-deep-schemas': () => {
    const deep = `${'{"items":'.repeat(100_000)}{}${'}'.repeat(100_000)}`;
    return toolList(tools(10, (n) => tool(`deep_${n}`, `{"type":"object","items":${deep}}`)));
  },
  'list-of-escaped-names': () =>
    toolList(tools(100, (n) => tool(`${'\\u0061'.repeat(25_000)}_${n}`))),
  'endless-pages': () => ({
    'tools/list': (id) =>
      write(resultLine(id, `{"tools":[${tool(`page_${id}`)}],"nextCursor":"${id}"}`)),
  }),
  'resources-marks': () => ({
    'resources/list': (id) => {
      const uri = `file:///data/a${'\u0344\u0323'.repeat(20_000)}`;
      const resources = tools(20, (n) => `{"uri":"${uri}${n}","name":"${n}"}`);
      return write(resultLine(id, `{"resources":[${resources}]}`));
    },
  }),
  'content-of-empty-objects': () => callResult(`{"content":[${filled('{}', MOST_BYTES)}]}`),
  'content-of-links': () =>
    callResult(
      `{"content":[${tools(100_000, (n) => `{"type":"resource_link","uri":"file:///data/${n}","name":"${n}"}`)}]}`,
    ),
  'deep-answer': () =>
    callResult(
      `{"content":[],"structuredContent":{"a":${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}}}`,
    ),
  'escaped-answer': () =>
    callResult(`{"content":[{"type":"text","text":"${'\\u0061'.repeat(2_700_000)}"}]}`),
  'large-answer': () =>
    callResult(`{"content":[{"type":"text","text":"${'x'.repeat(15.8 * MEBI)}"}]}`),
  'large-error': () => ({
    'tools/call': (id) => {
      const error = { code: -32000, message: 'x'.repeat(15.8 * MEBI) };
      return write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(error)}}\n`,
      );
    },
  }),
  // Two in a row, so that the second one comes while the first is on its way.
  'large-elicitation': () => ({
    'tools/call': () =>
      asksTwice('elicitation/create', { message: LARGE_TEXT, requestedSchema: FORM }),
  }),
  'large-sampling': () => ({
    'tools/call': () =>
      asksTwice('sampling/createMessage', {
        messages: [{ role: 'user', content: { type: 'text', text: LARGE_TEXT } }],
        maxTokens: 1,
      }),
  }),
  'large-errors': () => ({
    'tools/call': async (id) => {
      const data = Array.from({ length: 1_000_000 }, (_, n) => ({ n }));
      const error = { code: -32000, message: 'no', data };
      for (const one of [id, 'nobody']) await write(line({ id: one, error }));
    },
  }),
  'batch-answers': () => ({
    'tools/call': async (id) => {
      const large = { content: [{ type: 'text', text: '\u0001'.repeat(1.3 * MEBI) }] };
      const answers = [id, 'nobody'].map((one) => ({ jsonrpc: '2.0', id: one, result: large }));
      await write('[]\n');
      await write(`[${filled('0', MEBI)}]\n`);
      await write(`${JSON.stringify(answers)}\n`);
    },
  }),
  'progress-flood': () => ({
    'tools/call': async (id, progressToken) => {
      for (let progress = 1; progress <= 1_000_000; progress += 1) {
        await write(
          line({ method: 'notifications/progress', params: { progressToken, progress } }),
        );
      }
      await write(resultLine(id, '{"content":[]}'));
    },
  }),
};

/** The flood of that name. */
export function floodOf(name: string): Flood | undefined {
  return FLOODS[name];
}

/** What it answers by itself. */
export function answersOf(name: string): Answers {
  if (name !== '' && !(name in FLOODS) && !(name in ANSWERS)) {
    throw new Error(`no misbehaviour is called ${name}`);
  }
  return ANSWERS[name]?.() ?? {};
}
