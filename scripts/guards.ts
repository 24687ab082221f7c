// Proves that every guard has a test: takes away one guard at a time, in a copy of the checkout, and runs
// the test that must notice. `npm run test:guards [-- --only NAME]`; NAME is a part of guards' names.
// Without any guard taken away the tests must pass, or their failures would prove nothing.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { accessGuards } from './guards/access.ts';
import { catalogGuards } from './guards/catalog.ts';
import { configurationGuards } from './guards/configuration.ts';
import { connectionGuards } from './guards/connections.ts';
import type { Edit, Guard } from './guards/guard.ts';
import { listenerGuards } from './guards/listener.ts';
import { messageGuards } from './guards/messages.ts';
import { serverGuards } from './guards/servers.ts';
import { sessionGuards } from './guards/sessions.ts';
import { tokenGuards } from './guards/tokens.ts';
import { translateGuards } from './guards/translate.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PARALLEL = 2;
const LIMIT_MS = 240_000;
const TAIL_LENGTH = 2_000;

const ALL: readonly Guard[] = [
  ...listenerGuards,
  ...connectionGuards,
  ...accessGuards,
  ...sessionGuards,
  ...tokenGuards,
  ...messageGuards,
  ...translateGuards,
  ...catalogGuards,
  ...serverGuards,
  ...configurationGuards,
];

/** The tests of one run of vitest. */
interface Run {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** The end of what it printed. */
  readonly tail: string;
}

/** What became of a guard. */
interface Verdict {
  readonly guard: Guard;
  /** Empty: the test noticed. */
  readonly survived: string;
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

function editsOf(guard: Guard): readonly Edit[] {
  return [guard, ...(guard.also ?? [])];
}

/** A guard that moved is an error: taking nothing away would prove nothing. */
function faultsIn(guards: readonly Guard[]): string[] {
  const names = guards.map(({ name }) => name);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  const moved = guards.flatMap((guard) =>
    editsOf(guard).flatMap(({ file, find }) => {
      const count = readFileSync(join(ROOT, file), 'utf8').split(find).length - 1;
      return count === 1 ? [] : [`${guard.name}: stands ${count} times in ${file}: ${find}`];
    }),
  );
  return [...twice.map((name) => `${name}: is there twice`), ...moved];
}

/** A copy of the checkout as it is, new files included. */
function copyCheckout(to: string): string {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of new Set(listed.split('\0'))) {
    if (file === '' || !existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(ROOT, file), join(to, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(to, 'node_modules'));
  return to;
}

function escaped(title: string): string {
  return title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Runs tests of one file. */
async function run(
  copy: string,
  file: string,
  titles: readonly string[],
  more: readonly string[] = [],
): Promise<Run> {
  const report = join(copy, 'guards-report.json');
  rmSync(report, { force: true });
  const args = [
    join('node_modules', 'vitest', 'vitest.mjs'),
    ...['run', file, '--testNamePattern', titles.map(escaped).join('|')],
    ...['--reporter=json', `--outputFile=${report}`, ...more],
  ];
  // A group of its own, so that nothing is left of a gateway that lacks a guard.
  const child = spawn(process.execPath, args, { cwd: copy, detached: true });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-TAIL_LENGTH);
    });
  }
  const timer = setTimeout(() => endGroup(child.pid), LIMIT_MS);
  await new Promise((resolve) => {
    child.once('exit', resolve);
  });
  clearTimeout(timer);
  endGroup(child.pid);
  return { ...resultsIn(report), tail: text };
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left.
  }
}

function resultsIn(report: string): Pick<Run, 'passed' | 'failed'> {
  if (!existsSync(report)) return { passed: [], failed: [] };
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const titled = (status: string): string[] =>
    tests.filter((test) => test.status === status).map(({ fullName }) => fullName);
  return { passed: titled('passed'), failed: titled('failed') };
}

/** Works off a list, one at a time in each copy. */
async function each<T>(
  items: readonly T[],
  copies: readonly string[],
  work: (item: T, copy: string) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async (copy: string): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item, copy);
  };
  await Promise.all(copies.map(worker));
}

/** What is wrong with the tests of guards that are all there. */
async function faultsOfTests(
  guards: readonly Guard[],
  copies: readonly string[],
): Promise<string[]> {
  const faults: string[] = [];
  const files = [...new Set(guards.map(({ test }) => test[0]))];
  await each(files, copies, async (file, copy) => {
    const own = guards.filter(({ test }) => test[0] === file);
    const { passed, failed, tail } = await run(
      copy,
      file,
      own.map(({ test }) => test[1]),
    );
    faults.push(...failed.map((title) => `${file}: fails with all guards: ${title}\n${tail}`));
    for (const { name, test } of own) {
      const isThere = passed.some((title) => title.includes(test[1]));
      if (!isThere) faults.push(`${name}: no test passes that is called "${test[1]}" in ${file}`);
    }
  });
  return faults;
}

async function without(guard: Guard, copy: string): Promise<Verdict> {
  for (const { file, find, replace } of editsOf(guard)) {
    const path = join(copy, file);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(find, () => replace),
    );
  }
  const { passed, failed, tail } = await run(copy, guard.test[0], [guard.test[1]], ['--bail=1']);
  for (const { file } of editsOf(guard)) cpSync(join(copy, `${file}.whole`), join(copy, file));
  if (failed.length > 0) return { guard, survived: '' };
  const what = passed.length > 0 ? `${passed.length} tests pass` : `no test ran\n${tail}`;
  return { guard, survived: what };
}

/** The files as they were, beside the copies that are changed. */
function keepWhole(guards: readonly Guard[], copies: readonly string[]): void {
  for (const copy of copies) {
    for (const { file } of guards.flatMap(editsOf)) {
      cpSync(join(copy, file), join(copy, `${file}.whole`));
    }
  }
}

async function prove(guards: readonly Guard[], folder: string): Promise<boolean> {
  const copies = Array.from({ length: PARALLEL }, (_, at) => copyCheckout(join(folder, `${at}`)));
  keepWhole(guards, copies);
  const faults = await faultsOfTests(guards, copies);
  for (const fault of faults) console.error(fault);
  const survivors: Verdict[] = [];
  await each(guards, copies, async (guard, copy) => {
    const verdict = await without(guard, copy);
    if (verdict.survived !== '') survivors.push(verdict);
    console.log(`${verdict.survived === '' ? 'caught  ' : 'SURVIVED'} ${guard.name}`);
  });
  console.log(`${guards.length} guards, ${guards.length - survivors.length} caught`);
  for (const { guard, survived } of survivors) {
    console.error(`survived: ${guard.name} (${guard.test.join(' > ')}): ${survived}`);
  }
  return survivors.length === 0 && faults.length === 0;
}

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } });
const chosen = ALL.filter(
  ({ name, needsRoot }) =>
    (needsRoot !== true || process.getuid?.() === 0) &&
    (values.only?.some((part) => name.includes(part)) ?? true),
);
const faults = faultsIn(ALL);
if (faults.length > 0 || chosen.length === 0) {
  console.error(faults.length > 0 ? faults.join('\n') : 'no guard has such a name');
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'sluice-guards-'));
// Some tests start processes as another user.
chmodSync(folder, 0o755);
try {
  process.exitCode = (await prove(chosen, folder)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
