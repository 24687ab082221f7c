/**
 * Owns what is run and what must come out: the versions of the official suite, the revision each
 * run speaks, and how many scenarios have to pass. The names come from the suite itself, the
 * numbers from here, so an update of the suite that adds or drops a scenario is noticed.
 */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** One pass over one version of the suite at one revision. */
export interface Suite {
  readonly label: string;
  /** The suite's command line, an absolute path. */
  readonly cli: string;
  /** Options that select revision and wire, for `server` as for `list`. */
  readonly options: readonly string[];
  /** Options of `server` alone. */
  readonly serverOptions: readonly string[];
  /** How many scenarios there are, all of which must pass. */
  readonly expected: number;
}

/** The suite's own limit for a scenario, in ms; 0.1.16 has none. */
const SUITE_TIMEOUT_MS = 30_000;

const CLI_01 = modulePath('conformance-0.1/dist/index.js');
const CLI_02 = modulePath('@modelcontextprotocol/conformance/dist/index.js');

function modulePath(path: string): string {
  return fileURLToPath(new URL(`../../node_modules/${path}`, import.meta.url));
}

function suite02(revision: string, expected: number): Suite {
  return {
    label: `0.2.0-alpha.12 at ${revision}`,
    cli: CLI_02,
    // Not --requirements: there is no set for 2025-06-18, and the one for 2025-11-25 scores only 30.
    options: ['--spec-version', revision],
    serverOptions: ['--timeout', String(SUITE_TIMEOUT_MS)],
    expected,
  };
}

/** Every run of `npm run test:conformance`. */
export const SUITES: readonly Suite[] = [
  { label: '0.1.16', cli: CLI_01, options: [], serverOptions: [], expected: 32 },
  suite02('2025-06-18', 27),
  suite02('2025-11-25', 33),
];

/**
 * The scenarios in which the server asks the client something. Behind a shared process two of
 * them at once can't be told apart (design.md 5.2: the first collision is refused), and the suite
 * itself never overlaps scenarios. So these run alone.
 */
export const ASKING_SCENARIOS: ReadonlySet<string> = new Set([
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
]);

/**
 * Asks a suite for its scenarios.
 * @returns their names in the suite's order
 * @throws when the suite's command fails, takes more than 30 s or lists nothing
 */
export async function listScenarios(suite: Suite): Promise<string[]> {
  const args = [suite.cli, 'list', '--server', ...suite.options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  const names = [...stdout.matchAll(/^ {2}- ([\w-]+)/gm)].map(([, name]) => name ?? '');
  if (names.length === 0) throw new Error(`${suite.label} lists no scenarios`);
  return names;
}
