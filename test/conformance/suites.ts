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

function suite02(revision: string, expected: number): Suite {
  return {
    label: `0.2.0-alpha.12 at ${revision}`,
    cli: CLI_02,
    // Not --requirements: there is no set for 2025-06-18, and the one for 2025-11-25 scores only 30.
    options: ['--spec-version', revision],
    serverOptions: ['--timeout', String(SUITE_TIMEOUT_MS)],
    expected,
    failing: [],
    isDirect: true,
  };
}

/** Every run of `npm run test:conformance`. */
export const SUITES: readonly Suite[] = [
  {
    label: '0.1.16',
    cli: CLI_01,
    options: [],
    serverOptions: [],
    expected: 32,
    failing: [],
    isDirect: true,
  },
  suite02('2025-06-18', 27),
  suite02('2025-11-25', 33),
  {
    ...suite02('2026-07-28', 39),
    failing: ['input-required-result-basic-elicitation'],
    isDirect: false,
  },
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
  'server-stateless',
  'input-required-result-basic-elicitation',
  'input-required-result-basic-sampling',
  'input-required-result-basic-list-roots',
  'input-required-result-request-state',
  'input-required-result-multiple-input-requests',
  'input-required-result-multi-round',
  'input-required-result-missing-input-response',
  'input-required-result-non-tool-request',
  'input-required-result-result-type',
  'input-required-result-tampered-state',
  'input-required-result-capability-check',
  'input-required-result-ignore-extra-params',
  'input-required-result-validate-input',
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
