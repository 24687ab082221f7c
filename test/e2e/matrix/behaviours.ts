/**
 * The columns of the compatibility matrix: what a client does, and what has to come of it. Each throws
 * when it does not. They run one after the other on one connected client.
 */
import { expect } from 'vitest';
import {
  FORM,
  PROMPT,
  STATIC_URI,
  WATCHED_TEMPLATE,
} from '../../fixtures/servers/matrix-process.ts';
import type { Journal } from '../../support/scripted-server.ts';
import { until, within } from '../../support/until.ts';
import type { SdkClient } from '../sdk-client.ts';

/** What a behaviour works with. */
export interface Bench {
  readonly client: SdkClient;
  /** Tells this client's doings from those of others. */
  readonly key: string;
  /** What the row's server recorded. */
  readonly journal: Journal;
}

const TOOLS = ['echo', 'progress', 'release', 'hang', 'elicit', 'sample', 'roots', 'log', 'touch'];

async function list({ client }: Bench): Promise<void> {
  expect((await client.listTools()).toSorted()).toEqual(TOOLS.toSorted());
  expect(await client.listResources()).toEqual([STATIC_URI]);
  expect(await client.listTemplates()).toEqual([WATCHED_TEMPLATE]);
  expect(await client.listPrompts()).toEqual([PROMPT]);
}

async function call({ client, key }: Bench): Promise<void> {
  expect(await textOf(client, 'echo', { text: key })).toBe(key);
}

/** The call is let end only when all has been seen: the SDKs drop progress that comes with the answer. */
async function progress({ client, key }: Bench): Promise<void> {
  const seen: number[] = [];
  const onProgress = ({ progress: value }: { readonly progress: number }) => void seen.push(value);
  const done = client.call('progress', { key }, { onProgress });
  await Promise.race([done, until(() => seen.length >= 3, { what: 'progress' })]);
  expect(seen).toEqual([1, 2, 3]);
  expect(await textOf(client, 'release', { key })).toBe('true');
  expect((await done).text).toBe('done');
}

async function cancel({ client, key, journal }: Bench): Promise<void> {
  const user = new AbortController();
  const ended = expect(client.call('hang', { key }, { signal: user.signal })).rejects.toThrow();
  await Promise.race([ended, journal.waitForEvent(`hanging ${key}`)]);
  user.abort(new Error('the user has had enough'));
  await ended;
  await journal.waitForEvent(`cancelled ${key}`);
}

async function elicitation({ client }: Bench): Promise<void> {
  expect(await textOf(client, 'elicit')).toBe(client.user.secret);
  expect(client.questions.splice(0)).toEqual([FORM.message]);
}

async function sampling({ client }: Bench): Promise<void> {
  expect(await textOf(client, 'sample')).toBe(client.user.secret);
  expect(client.questions.splice(0)).toEqual(['Say it']);
}

async function roots({ client }: Bench): Promise<void> {
  expect(await textOf(client, 'roots')).toBe(client.user.roots?.join(' '));
}

async function subscription({ client, key }: Bench): Promise<void> {
  const uri = WATCHED_TEMPLATE.replace('{key}', encodeURIComponent(key));
  await client.subscribe(uri);
  await textOf(client, 'touch', { uri });
  await until(() => client.updates.includes(uri), { what: `an update of ${uri}` });
  await client.unsubscribe(uri);
  expect(client.updates).toEqual([uri]);
}

async function log({ client, key }: Bench): Promise<void> {
  await client.setLevel('warning');
  await textOf(client, 'log', { level: 'info', data: `${key} too little` });
  await textOf(client, 'log', { level: 'error', data: key });
  await until(() => client.logs.includes(key), { what: 'the log message' });
  expect(client.logs).toEqual([key]);
}

/** By name, in the order in which they run. */
const BEHAVIOURS = {
  list,
  call,
  progress,
  cancel,
  elicitation,
  sampling,
  roots,
  subscription,
  log,
} as const;

export type BehaviourName = keyof typeof BEHAVIOURS;
export const BEHAVIOUR_NAMES = Object.keys(BEHAVIOURS) as BehaviourName[];

/** Milliseconds for one behaviour; says only when to give up. */
const LIMIT_MS = 100_000;

/** @returns what went wrong, if anything did */
export async function tryOut(name: BehaviourName, bench: Bench): Promise<string | undefined> {
  try {
    await within(BEHAVIOURS[name](bench), LIMIT_MS, `end of ${name}`);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function textOf(
  client: SdkClient,
  tool: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { text, isError } = await client.call(tool, args);
  if (isError) throw new Error(`${tool} failed: ${text}`);
  return text;
}
