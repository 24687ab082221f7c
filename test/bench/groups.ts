// Groups of measurements: which subjects meet which scenarios, and what they are compared with.
import { COLD_LIST, LISTS, SCENARIOS, type Scenario } from './scenarios.ts';
import { SUBJECT_NAMES, type SubjectName } from './subjects.ts';
import { type Shape, SMALL } from './work.ts';

/** A subject that the others are divided by. */
export interface Yardstick {
  readonly subject: SubjectName;
  /** Of the column, after `x`. */
  readonly label: string;
}

export interface Group {
  readonly about: string;
  /** Unless others are asked for. */
  readonly subjects: readonly SubjectName[];
  /** All that can take part. */
  readonly possible: readonly SubjectName[];
  readonly scenarios: readonly Scenario[];
  readonly yardsticks: readonly Yardstick[];
  /** What a subject does until its code is compiled. */
  readonly warmUp: Shape;
}

const PIPE: Yardstick = { subject: 'bare-pipe', label: 'pipe' };
const DIRECT: Yardstick = { subject: 'sluice', label: '1:1' };
const LIST_SUBJECTS: readonly SubjectName[] = ['constant', 'sluice-fleet', 'sluice-fleet-modern'];
const CALL_SUBJECTS = SUBJECT_NAMES.filter((name) => !LIST_SUBJECTS.includes(name));
const CALLS = SCENARIOS.filter(({ kind }) => kind === 'calls');

const OF_CALLS = { possible: CALL_SUBJECTS, yardsticks: [PIPE, DIRECT], warmUp: SMALL } as const;

export const GROUPS = {
  main: {
    ...OF_CALLS,
    about: 'against a bare pipe and other gateways',
    subjects: ['bare-pipe', 'sluice', 'mcp-proxy', 'supergateway'],
    scenarios: SCENARIOS,
    yardsticks: [PIPE],
  },
  eras: {
    ...OF_CALLS,
    about: 'clients and servers of both eras',
    subjects: ['bare-pipe', 'sluice', 'sluice-modern', 'sluice-to-legacy', 'sluice-to-modern'],
    scenarios: CALLS,
  },
  access: {
    ...OF_CALLS,
    about: 'clients that show who they are',
    subjects: ['bare-pipe', 'sluice', 'sluice-key', 'sluice-token'],
    scenarios: CALLS,
  },
  aggregate: {
    ...OF_CALLS,
    about: 'one endpoint with 6 servers',
    subjects: ['bare-pipe', 'sluice', 'sluice-aggregate', 'sluice-aggregate-modern'],
    scenarios: CALLS,
  },
  lists: {
    about: 'tools/list over 100 servers with 20 tools each, and with servers that are slow',
    subjects: ['constant', 'sluice-fleet'],
    possible: LIST_SUBJECTS,
    scenarios: [...LISTS, COLD_LIST],
    yardsticks: [{ subject: 'constant', label: 'constant' }],
    warmUp: LISTS[0].shape,
  },
} as const satisfies Record<string, Group>;

export type GroupName = keyof typeof GROUPS;
export const GROUP_NAMES = Object.keys(GROUPS) as GroupName[];
