/**
 * Owns what is run and what must come out: the versions of the official suite, the revision each
 * run speaks, and how many scenarios have to pass. The names come from the suite itself, the
 * numbers from here, so an update of the suite that adds or drops a scenario is noticed.
 */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Which of the two servers of test/conformance is behind the endpoint, by its era. */
export type Fixture = 'legacy' | 'modern';

/** One pass over one version of the suite at one revision. */
export interface Suite {
  readonly label: string;
  readonly fixture: Fixture;
  /** The suite's command line, an absolute path. */
  readonly cli: string;
  /** Options that select revision and wire, for `server` as for `list`. */
  readonly options: readonly string[];
  /** Options of `server` alone. */
  readonly serverOptions: readonly string[];
  /** Names of the scenarios, where the options select too many. */
  readonly names?: RegExp;
  /** How many scenarios must pass. */
  readonly expected: number;
  /** Scenarios beyond those, which can't pass behind this fixture; README.md says why. */
  readonly failing: readonly string[];
  /** Whether the fixture alone speaks the revision. */
  readonly isDirect: boolean;
}

/** The suite's own limit for a scenario, in ms; 0.1.16 has none. */
const SUITE_TIMEOUT_MS = 30_000;

const CLI_01 = modulePath('conformance-0.1/dist/index.js');
const CLI_02 = modulePath('@modelcontextprotocol/conformance/dist/index.js');

function modulePath(path: string): string {
  return fileURLToPath(new URL(`../../node_modules/${path}`, import.meta.url));
}

type What = Pick<Suite, 'label' | 'fixture' | 'options' | 'expected'> & Partial<Suite>;

function suite02(what: What): Suite {
  return {
    cli: CLI_02,
    serverOptions: ['--timeout', String(SUITE_TIMEOUT_MS)],
    failing: [],
    isDirect: true,
    ...what,
    label: `0.2.0-alpha.12 ${what.label}, ${what.fixture} server`,
  };
}

function atRevision(revision: string, fixture: Fixture, expected: number): Suite {
  return suite02({
    label: `at ${revision}`,
    fixture,
    // Not --requirements: there is no set for 2025-06-18, and the one for 2025-11-25 scores only 30.
    options: ['--spec-version', revision],
    expected,
    isDirect: (fixture === 'modern') === (revision === '2026-07-28'),
  });
}

/** An extension's scenarios belong to no revision. The suite runs them at 2026-07-28. */
function ofExtension(label: string, names: RegExp, expected: number): Suite {
  return suite02({ label, fixture: 'modern', options: [], names, expected });
}

/** Every run of `npm run test:conformance`. */
export const SUITES: readonly Suite[] = [
  {
    ...suite02({ label: '', fixture: 'legacy', options: [], expected: 32 }),
    label: '0.1.16, legacy server',
    cli: CLI_01,
    serverOptions: [],
  },
  atRevision('2025-06-18', 'legacy', 27),
  atRevision('2025-11-25', 'legacy', 33),
  {
    ...atRevision('2026-07-28', 'legacy', 39),
    failing: ['input-required-result-basic-elicitation'],
  },
  atRevision('2025-11-25', 'modern', 33),
  atRevision('2026-07-28', 'modern', 40),
  ofExtension('skills', /^sep-2640-skills-/, 3),
  ofExtension('tasks', /^tasks-/, 10),
];

/**
 * Asks a suite for its scenarios.
 * @returns their names in the suite's order
 * @throws when the suite's command fails, takes more than 30 s or lists nothing
 */
export async function listScenarios(suite: Suite): Promise<string[]> {
  const args = [suite.cli, 'list', '--server', ...suite.options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  const names = [...stdout.matchAll(/^ {2}- ([\w-]+)/gm)]
    .map(([, name]) => name ?? '')
    .filter((name) => suite.names?.test(name) ?? true);
  if (names.length === 0) throw new Error(`${suite.label} lists no scenarios`);
  return names;
}
