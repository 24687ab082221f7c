// What `npm run bench` is told to do.
import { parseArgs } from 'node:util';
import { GROUP_NAMES, GROUPS, type Group, type GroupName } from './groups.ts';
import { FULL_PACE, type Pace, QUICK_PACE, type Scenario } from './scenarios.ts';
import type { SubjectName } from './subjects.ts';

/** All options, for people. */
export const USAGE = `usage: npm run bench -- [options]
  --group NAME       what is compared, ${GROUP_NAMES[0]} by default:
${GROUP_NAMES.map(groupUsage).join('\n')}
  --quick            fewer and shorter rounds, the main scenarios only (under 90 s)
  --only NAME        only scenarios of the group whose name contains NAME
  --subjects A,B     these instead of the group's own; groups of calls can have them all
  --json FILE        also writes everything that was measured`;

function groupUsage(name: GroupName): string {
  const { about, scenarios, subjects }: Group = GROUPS[name];
  const names = scenarios.map((scenario) => scenario.name).join(', ');
  return `    ${name.padEnd(10)}     ${about}\n${' '.repeat(19)}subjects ${subjects.join(', ')}\n${' '.repeat(19)}scenarios ${names}`;
}

/** Options that were read. */
export interface Settings {
  readonly group: Group;
  readonly scenarios: readonly Scenario[];
  readonly subjects: readonly SubjectName[];
  readonly pace: Pace;
  readonly jsonFile: string | undefined;
}

/**
 * Reads the command line.
 * @returns undefined when help is asked for
 * @throws TypeError for options that do not exist
 */
export function readSettings(args: string[]): Settings | undefined {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      group: { type: 'string', default: GROUP_NAMES[0] ?? '' },
      subjects: { type: 'string' },
      json: { type: 'string' },
    },
  });
  if (values.help) return undefined;
  const groupName = GROUP_NAMES.find((name) => name === values.group);
  if (groupName === undefined) throw new TypeError(`there is no group ${values.group}`);
  const group: Group = GROUPS[groupName];
  const wanted: readonly string[] = values.subjects?.split(',') ?? group.subjects;
  const unknown = wanted.find((name) => !group.possible.some((known) => known === name));
  if (unknown !== undefined) {
    throw new TypeError(`the group ${values.group} can have ${group.possible.join(', ')}`);
  }
  const scenarios = group.scenarios.filter(
    // A name that is asked for is measured even when --quick would leave it out.
    ({ name, fullOnly }) =>
      name.includes(values.only) && !(values.quick && fullOnly && values.only === ''),
  );
  if (scenarios.length === 0) throw new TypeError(`there is no scenario ${values.only}`);
  return {
    group,
    scenarios,
    subjects: group.possible.filter((name) => wanted.includes(name)),
    pace: values.quick ? QUICK_PACE : FULL_PACE,
    jsonFile: values.json,
  };
}
