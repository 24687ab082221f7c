/**
 * The compatibility matrix: official clients of both eras, over every transport they have, with servers
 * of both eras on stdio and remote, through one gateway. It prints the table; docs/compatibility.md has
 * the short form, which `npx vitest run test/e2e/matrix.test.ts -u` writes anew.
 */
import * as sdk2 from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GatewayOptions } from '../support/gateway.ts';
import { useGateway } from '../support/use-gateway.ts';
import { BEHAVIOUR_NAMES, type BehaviourName, type Bench, tryOut } from './matrix/behaviours.ts';
import { documentOf } from './matrix/document.ts';
import { connect, impossible, laneOf, ROWS, type Row, slugOf } from './matrix/rows.ts';
import { MatrixServers } from './matrix/servers.ts';
import { fullTable } from './matrix/table.ts';

const servers = new MatrixServers();
let options: GatewayOptions;
beforeAll(async () => {
  options = await servers.start();
});
const harness = useGateway(() => options);
afterAll(() => servers.close());

/** Lanes at work at once: each row has a client, and often a process or two, of its own. */
const WORKERS = 6;
/**
 * Tried when the rest of a lane is done. An SDK never answers a call that was cancelled, so for a while
 * the server might still ask on its behalf, and other clients' questions wait for that (docs/adr/0003).
 */
const LAST: BehaviourName = 'cancel';

const outcomes = new Map<Row, Map<BehaviourName, string | undefined>>();

async function openBench(row: Row): Promise<Bench> {
  const key = slugOf(row);
  const user = { secret: `secret of ${key}`, roots: [`file:///${key}`] };
  const client = harness.track(await connect(row, harness.gateway.url, user));
  return { client, key, journal: servers.journals[row.server] };
}

async function tryLane(rows: readonly Row[]): Promise<void> {
  const atLast: (() => Promise<void>)[] = [];
  for (const row of rows) {
    const outcome = new Map<BehaviourName, string | undefined>();
    outcomes.set(row, outcome);
    try {
      const bench = await openBench(row);
      for (const name of BEHAVIOUR_NAMES) {
        if (name !== LAST) outcome.set(name, await tryOut(name, bench));
      }
      atLast.push(async () => void outcome.set(LAST, await tryOut(LAST, bench)));
    } catch (error) {
      for (const name of BEHAVIOUR_NAMES) outcome.set(name, `cannot connect: ${String(error)}`);
    }
  }
  for (const tryLast of atLast) await tryLast();
}

async function tryAll(): Promise<void> {
  const possible = ROWS.filter((row) => impossible(row) === undefined);
  // The longest first.
  const lanes = [...Map.groupBy(possible, laneOf).values()].sort((a, b) => b.length - a.length);
  const work = async (): Promise<void> => {
    for (let lane = lanes.shift(); lane !== undefined; lane = lanes.shift()) await tryLane(lane);
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
}

/** Every cell that does not work though it could. */
function failures(): string[] {
  return [...outcomes].flatMap(([row, outcome]) =>
    [...outcome]
      .filter(([, problem]) => problem !== undefined)
      .map(([name, problem]) => `${slugOf(row)} ${name}: ${problem}`),
  );
}

it('the SDK lacks what the table says that it lacks', () => {
  const transports = Object.keys(sdk2).filter((name) => name.endsWith('ClientTransport'));
  expect(transports).toEqual(['SSEClientTransport', 'StreamableHTTPClientTransport']);
});

it('every client does everything with every server', { timeout: 400_000 }, async () => {
  await tryAll();
  // The runner shows what a test prints with `console` only.
  // biome-ignore lint/suspicious/noConsole: the table is to be read
  console.log(fullTable(outcomes));
  expect(failures()).toEqual([]);
  await expect(documentOf(outcomes)).toMatchFileSnapshot('../../docs/compatibility.md');
});
