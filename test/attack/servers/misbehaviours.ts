// What servers do wrong, by name: floods from `notifications/initialized` on, and answers of their own.
import { pour, write } from './output.ts';

type Flood = () => Promise<unknown>;
/** Answers a request itself. */
type Answer = (id: string | number) => Promise<void> | void;

const CHUNK_BYTES = 65_536;
const MEBI = 1024 * 1024;

const line = (message: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const again = (text: string): string => text.repeat(Math.ceil(CHUNK_BYTES / text.length));

const FLOODS: Readonly<Record<string, Flood>> = {
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

const ANSWERS: Readonly<Record<string, Readonly<Record<string, Answer>>>> = {
  'list-of-empty-objects': {
    'tools/list': (id) => write(resultLine(id, `{"tools":[${filled('{}', 15.9 * MEBI)}]}`)),
  },
  'content-of-empty-objects': {
    'tools/call': (id) => write(resultLine(id, `{"content":[${filled('{}', 15.9 * MEBI)}]}`)),
  },
};

/** The flood of that name. */
export function floodOf(name: string): Flood | undefined {
  return FLOODS[name];
}

/** What it answers by itself, by method. */
export function answersOf(name: string): Readonly<Record<string, Answer>> {
  if (name !== '' && !(name in FLOODS) && !(name in ANSWERS)) {
    throw new Error(`no misbehaviour is called ${name}`);
  }
  return ANSWERS[name] ?? {};
}
