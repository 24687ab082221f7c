// What is measured: the loads and how long each goes on, in full and with --quick.
import { FLEET, fleetListBytes } from './fleet.ts';
import { type CallShape, type ListShape, type Shape, SMALL } from './work.ts';

/** One kind of work in a closed loop. */
export interface CallScenario {
  readonly kind: 'calls';
  readonly name: string;
  readonly shape: Shape;
  readonly inFlight: number;
  /** Left out with --quick. */
  readonly fullOnly?: boolean;
}

/** Sessions that rest. */
export interface SessionScenario {
  readonly kind: 'sessions';
  readonly name: string;
  readonly sessions: number;
  /** With a GET stream each, as the official SDKs open it. */
  readonly streams: boolean;
  readonly fullOnly?: boolean;
}

/** The first list of an endpoint whose servers are slow. */
export interface ColdListScenario {
  readonly kind: 'cold-list';
  readonly name: string;
  readonly fullOnly?: boolean;
}

export type Scenario = CallScenario | SessionScenario | ColdListScenario;

const JSON_100K: CallShape = { payload: 'json', bytes: 100_000 };
const BASE64_1M: CallShape = { payload: 'base64', bytes: 1_000_000 };
const BASE64_10M: CallShape = { payload: 'base64', bytes: 10_000_000 };

export const SCENARIOS: readonly Scenario[] = [
  { kind: 'calls', name: 'small-1', shape: SMALL, inFlight: 1 },
  { kind: 'calls', name: 'small-16', shape: SMALL, inFlight: 16 },
  { kind: 'calls', name: 'small-64', shape: SMALL, inFlight: 64, fullOnly: true },
  { kind: 'calls', name: 'json-100k-1', shape: JSON_100K, inFlight: 1 },
  { kind: 'calls', name: 'json-100k-16', shape: JSON_100K, inFlight: 16, fullOnly: true },
  { kind: 'calls', name: 'json-100k-64', shape: JSON_100K, inFlight: 64, fullOnly: true },
  { kind: 'calls', name: 'base64-1m-1', shape: BASE64_1M, inFlight: 1 },
  { kind: 'calls', name: 'base64-1m-16', shape: BASE64_1M, inFlight: 16, fullOnly: true },
  { kind: 'calls', name: 'base64-10m-1', shape: BASE64_10M, inFlight: 1, fullOnly: true },
  { kind: 'sessions', name: 'sessions-1000', sessions: 1000, streams: false },
  { kind: 'sessions', name: 'streams-1000', sessions: 1000, streams: true, fullOnly: true },
];

const WHOLE_LIST: ListShape = { payload: 'list', bytes: fleetListBytes(FLEET) };

/** A list of many servers that has been read before; a call is the reading of all its pages. */
export const LISTS = [
  { kind: 'calls', name: 'list-2000', shape: WHOLE_LIST, inFlight: 1 },
  { kind: 'calls', name: 'list-2000-16', shape: WHOLE_LIST, inFlight: 16, fullOnly: true },
] as const satisfies readonly CallScenario[];

export const COLD_LIST: ColdListScenario = { kind: 'cold-list', name: 'cold-list' };

/** How long everything takes. */
export interface Pace {
  /** Many and short ones: load of others on the machine then meets all subjects alike. */
  readonly rounds: number;
  /** Of one measurement. */
  readonly durationMs: number;
  /** Goes on until there are so many calls, up to three times as long. */
  readonly minCalls: number;
  /** Once a subject, with small calls, until its code is compiled. */
  readonly firstWarmUpMs: number;
  /** Goes on for so many calls, up to three times as long: a busy machine compiles late. */
  readonly firstWarmUpCalls: number;
  /** Once a subject and scenario. */
  readonly warmUpMs: number;
  /** After this no measurement of calls starts. */
  readonly enoughCallsMs: number;
  /** After this no measurement of sessions starts. */
  readonly enoughMs: number;
  /** After this everything is killed. */
  readonly limitMs: number;
}

export const FULL_PACE: Pace = {
  rounds: 12,
  durationMs: 500,
  minCalls: 10,
  firstWarmUpMs: 3000,
  firstWarmUpCalls: 30_000,
  warmUpMs: 800,
  enoughCallsMs: 440_000,
  enoughMs: 550_000,
  limitMs: 600_000,
};

export const QUICK_PACE: Pace = {
  rounds: 6,
  durationMs: 250,
  minCalls: 5,
  firstWarmUpMs: 1000,
  firstWarmUpCalls: 10_000,
  warmUpMs: 200,
  enoughCallsMs: 50_000,
  enoughMs: 72_000,
  limitMs: 90_000,
};
