/**
 * The tests that an official SDK's client has to pass against the shipped servers, whichever its major
 * version: many users at once, on every transport that the SDK has, on one process per server.
 */
import { expect, it } from 'vitest';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { until } from '../support/until.ts';
import { type GatewayUnderTest, useGateway } from '../support/use-gateway.ts';
import type { Connect, Progress, SdkClient, TransportKind } from './sdk-client.ts';
import { SHIPPED_NAMES, shippedServers } from './shipped-servers.ts';
import { openWorkstations, secretsIn, type Workstation } from './workstations.ts';

const USERS = 50;
/** Milliseconds for a test of all users; says only when to give up. */
const LIMIT_MS = 240_000;
const SAMPLING = 'trigger-sampling-request';
const FORM = 'trigger-elicitation-request';
const LONG = 'trigger-long-running-operation';

/** A tool of each server that has to be in its list. */
const TOOLS = {
  everything: ['echo', 'get-sum', SAMPLING, FORM],
  files: ['read_text_file', 'list_directory'],
  memory: ['create_entities', 'open_nodes'],
} as const;

const textUri = (id: number): string => `demo://resource/dynamic/text/${id}`;

/** Registers the tests, with a gateway of their own. */
export function testShippedServers(connect: Connect, kinds: readonly TransportKind[]): void {
  const harness = useGateway(shippedServers);
  const workstations = (count = USERS): Promise<Workstation[]> =>
    openWorkstations(harness, connect, kinds, count);
  const clients = async (count: number): Promise<SdkClient[]> =>
    (await workstations(count)).map(({ at }) => at.everything);

  it(`${USERS} users list and call tools of all servers at once`, {
    timeout: LIMIT_MS,
  }, async () => {
    await Promise.all((await workstations()).map(useEveryServer));
    // Nobody got a process of their own.
    expect(await instances(harness)).toBe(SHIPPED_NAMES.length);
  });

  it(`${USERS} users answer the requests of a shared server, each with their own secret`, {
    timeout: LIMIT_MS,
  }, async () => {
    const users = await workstations();
    const [first] = users;
    // Learned from a call that is alone: from now on calls of these tools wait for each other.
    await first?.at.everything.call(SAMPLING, { prompt: first.secret });
    await first?.at.everything.call(FORM);
    first?.at.everything.questions.splice(0);
    await Promise.all(users.map(answerQuestions));
  });

  it('a client that offers neither is not asked, and neither is anybody else', async () => {
    const others = await clients(kinds.length);
    const base = `${harness.gateway.url}/servers/everything`;
    for (const kind of kinds) {
      const user = { secret: 'none', answersQuestions: false };
      const mute = harness.track(await connect(base, kind, user));
      for (const tool of [SAMPLING, FORM]) {
        const result = await mute.call(tool, { prompt: 'anyone?' });
        expect(result.isError).toBe(true);
        expect(result.text).toContain('-32601');
      }
    }
    await Promise.all(others.map((other) => other.ping()));
    for (const { questions } of others) expect(questions).toEqual([]);
  });

  it('progress reaches the caller only, while others have calls with the same token', async () => {
    const users = await clients(12);
    await Promise.all(users.map(runLong));
  });

  it('log messages go to the client whose call caused them, whatever its transport', async () => {
    const users = await clients(kinds.length * 2);
    await Promise.all(users.map((user) => user.setLevel('debug')));
    for (const user of users) {
      // The server logs one message of a random level at once, then one every 5 s.
      await user.call('toggle-simulated-logging');
      await until(() => user.logs.length > 0);
      await user.call('toggle-simulated-logging');
    }
    for (const { logs } of users) expect(logs).toEqual([expect.stringMatching(/message$/)]);
  });

  it("log messages that are nobody's go to those who set a level for them", async () => {
    const [verbose, quiet, unset] = (await clients(3)) as [SdkClient, SdkClient, SdkClient];
    await verbose.setLevel('debug');
    await quiet.setLevel('error');
    // The server logs the subscription, which is the gateway's on behalf of all.
    await verbose.subscribe(textUri(101));
    await Promise.all([verbose, unset].map(({ logs }) => until(() => logs.length > 0)));
    await quiet.ping();
    expect(quiet.logs).toEqual([]);
    expect(verbose.logs).toEqual([expect.stringContaining(textUri(101))]);
  });

  it('updates of resources reach their subscribers only', async () => {
    const users = await clients(kinds.length * 2);
    const [left] = users.splice(0, 1);
    await Promise.all(users.map((user, i) => user.subscribe(textUri(i + 1))));
    await left?.subscribe(textUri(1));
    await left?.unsubscribe(textUri(1));
    // The server sends one update of each subscribed resource at once, then one every 5 s.
    await left?.call('toggle-subscriber-updates');
    await Promise.all(users.map((user) => until(() => user.updates.length > 0)));
    await left?.call('toggle-subscriber-updates');
    for (const [i, { updates }] of users.entries()) {
      expect(new Set(updates)).toEqual(new Set([textUri(i + 1)]));
    }
    expect(left?.updates).toEqual([]);
  });

  it('prompts, completions and resources arrive at the client that asked for them', async () => {
    await Promise.all((await clients(12)).map(useTheRest));
  });

  // The last one: for 10 s the aborted call counts as one that the server may mean (docs/adr/0003).
  it('a call that its caller aborts ends, and nobody else is disturbed', async () => {
    const [aborting, ...others] = await clients(4);
    const controller = new AbortController();
    const aborted = aborting?.call(
      LONG,
      { duration: 30, steps: 300 },
      { signal: controller.signal, onProgress: () => controller.abort(new Error('enough')) },
    );
    await expect(aborted).rejects.toThrow('enough');
    await Promise.all(others.map(runLong));
    expect((await aborting?.call('echo', { message: 'still here' }))?.text).toContain('still here');
  });
}

async function instances(harness: GatewayUnderTest): Promise<number> {
  return metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_server_instances');
}

/** Lists the tools of each server and calls one, all at the same time. */
async function useEveryServer({ number, secret, at }: Workstation): Promise<void> {
  const { everything, files, memory } = at;
  const lists = await Promise.all(SHIPPED_NAMES.map((name) => at[name].listTools()));
  for (const [i, name] of SHIPPED_NAMES.entries()) {
    expect(lists[i]).toEqual(expect.arrayContaining([...TOOLS[name]]));
  }
  const [echo, sum, structured, file, folder, graph] = await Promise.all([
    everything.call('echo', { message: secret }),
    everything.call('get-sum', { a: number, b: 1_000 }),
    everything.call('get-structured-content', { location: 'Chicago' }),
    files.call('read_text_file', { path: 'notes/numbers.csv' }),
    files.call('list_directory', { path: '.' }),
    memory.call('open_nodes', { names: [secret] }),
  ]);
  expect(echo.text).toBe(`Echo: ${secret}`);
  expect(sum.text).toBe(`The sum of ${number} and 1000 is ${number + 1_000}.`);
  expect(structured.structured).toMatchObject({ conditions: expect.any(String) });
  expect(file.text).toContain('large,9007199254740993');
  expect(folder.text).toContain('[FILE] welcome.md');
  expect(JSON.parse(graph.text)).toEqual({ entities: [], relations: [] });
  for (const { isError } of [echo, sum, structured, file, folder, graph]) {
    expect(isError).toBe(false);
  }
}

/** Calls a tool that samples and one that shows a form; the results hold the own secret only. */
async function answerQuestions({ secret, at }: Workstation): Promise<void> {
  const { everything } = at;
  const [sampled, form] = await Promise.all([
    everything.call(SAMPLING, { prompt: `mine is ${secret}` }),
    everything.call(FORM),
  ]);
  expect(secretsIn(sampled.text)).toEqual([secret]);
  expect(secretsIn(form.text)).toEqual([secret]);
  expect(form.text).toContain(`- Name: ${secret}`);
  expect(everything.questions).toHaveLength(2);
  const prompt = everything.questions.find((text) => text.includes('mine is'));
  expect(prompt).toBe(`Resource ${SAMPLING} context: mine is ${secret}`);
}

/** Runs the long operation in a number of steps of the client's own. */
async function runLong(client: SdkClient, number: number): Promise<void> {
  const steps = 3 + number;
  const seen: Progress[] = [];
  const args = { duration: 0.5, steps };
  const { text } = await client.call(LONG, args, { onProgress: (item) => seen.push(item) });
  expect(text).toContain(`Steps: ${steps}.`);
  expect(seen).toEqual(seen.map((_, i) => ({ progress: i + 1, total: steps })));
  // The SDKs forget a call's handler as soon as they read its answer; progress that comes in the same
  // chunk finds none. It arrived all the same.
  expect(seen.length + client.lateProgress).toBe(steps);
}

async function useTheRest(client: SdkClient, number: number): Promise<void> {
  expect(client.serverName).toBe('mcp-servers/everything');
  expect(client.instructions).toContain('Everything');
  expect(await client.listPrompts()).toEqual(
    expect.arrayContaining(['simple-prompt', 'args-prompt', 'completable-prompt']),
  );
  const city = `City ${number}`;
  expect(await client.getPrompt('args-prompt', { city })).toBe(`What's weather in ${city}?`);
  const department = number % 2 === 0 ? 'Engineering' : 'Sales';
  const argument = { name: 'name', value: '' };
  expect(await client.completePrompt('completable-prompt', argument, { department })).toEqual(
    department === 'Sales' ? ['David', 'Eve', 'Frank'] : ['Alice', 'Bob', 'Charlie'],
  );
  expect(await client.listTemplates()).toContain('demo://resource/dynamic/text/{resourceId}');
  expect(await client.read(textUri(number + 1))).toContain(`Resource ${number + 1}: `);
  const blob = await client.read(`demo://resource/dynamic/blob/${number + 1}`);
  expect(Buffer.from(blob, 'base64').toString()).toContain(`Resource ${number + 1}: `);
}
