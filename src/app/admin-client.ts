// `sluice reload`: asks the admin listener of a running gateway, on its address or its socket.
import type { ClientRequest } from 'node:http';
import { messageOf } from '../base/errors.ts';
import { EXIT } from '../base/exit-codes.ts';
import { parseText } from '../jsonrpc/parse.ts';

/** `import` would load parts of it that take memory and are never used. */
const { request } = process.getBuiltinModule('node:http');

/** Where the admin listener is. */
export type AdminPlace = { readonly url: string } | { readonly socketPath: string };

/** What is asked, and who is told. */
export interface ReloadCommand {
  readonly place: AdminPlace;
  readonly isJson: boolean;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Longer than any server may take to start. */
const LIMIT_MS = 600_000;
const MAX_BYTES = 1024 * 1024;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * Has a running gateway read its configuration again, and says what came of it.
 * @returns the exit status
 */
export async function runReload({ place, isJson, out, err }: ReloadCommand): Promise<number> {
  const where = 'url' in place ? place.url : place.socketPath;
  let answer: Answer;
  try {
    answer = await post(place, '/reload');
  } catch (error) {
    err(`sluice: no gateway answers at ${where}: ${messageOf(error)}\n`);
    return EXIT.failure;
  }
  if (isJson) {
    out(`${answer.text}\n`);
    return answer.status === 200 ? EXIT.ok : EXIT.failure;
  }
  const { errors = [], needsRestart = [], message = '' } = read(answer.text);
  if (answer.status === 200) {
    out('The configuration was reloaded.\n');
    if (needsRestart.length > 0) out(`Waits for a restart: ${needsRestart.join(', ')}.\n`);
    return EXIT.ok;
  }
  for (const line of errors) err(`${line}\n`);
  const why = errors.length > 0 ? 'the configuration that runs is not changed' : message;
  err(`sluice: not reloaded: ${why === '' ? `HTTP ${answer.status}` : why}\n`);
  return EXIT.failure;
}

interface ReadAnswer {
  readonly errors?: readonly string[];
  readonly needsRestart?: readonly string[];
  readonly message?: string;
}

function read(text: string): ReadAnswer {
  try {
    return (parseText(text) ?? {}) as ReadAnswer;
  } catch {
    return {};
  }
}

function post(place: AdminPlace, path: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 0 },
    timeout: LIMIT_MS,
  };
  const asked: ClientRequest =
    'url' in place
      ? request(new URL(path, place.url), options)
      : request({ ...options, socketPath: place.socketPath, path });
  asked.on('error', reject);
  asked.on('timeout', () => asked.destroy(new Error('no answer in time')));
  asked.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      if (text.length < MAX_BYTES) text += chunk;
    });
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    response.on('error', reject);
  });
  asked.end();
  return promise;
}
