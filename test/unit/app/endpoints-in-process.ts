// The endpoints of a gateway without processes and sockets: two servers, `a` and `b`, that answer
// everything but calls of tools, and clients on channels.
import { planEndpoints } from '../../../src/app/endpoints.ts';
import { HeldBytes, heldLimits } from '../../../src/base/held-bytes.ts';
import { AllLists } from '../../../src/catalog/all-lists.ts';
import { Pins } from '../../../src/catalog/pins/pins.ts';
import { ArgumentValidators } from '../../../src/catalog/validation/argument-validators.ts';
import { loadText } from '../../../src/config/load.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import { MessageChannel } from '../../../src/session/message-channel.ts';
import { ModernRequests } from '../../../src/session/modern-requests.ts';
import { ServedEndpoint } from '../../../src/session/served-endpoint.ts';
import { SessionStore } from '../../../src/session/session-store.ts';
import { createModernState } from '../../../src/translate/modern-dispatcher.ts';
import { ServerBackend } from '../../../src/upstream/backend.ts';
import { ProcessBudget } from '../../../src/upstream/process-budget.ts';
import { type EnvelopeOptions, enveloped } from '../../support/modern-envelope.ts';
import { until } from '../../support/until.ts';

export type Era = 'legacy' | 'modern';

const CAPABILITIES = { tools: {} };
const NO_METHOD = { error: { code: -32601, message: 'no' } };

/** What a server answers; undefined: it never does. */
function answerOf(era: Era, method: string): object | undefined {
  const type = era === 'modern' ? { resultType: 'complete' } : {};
  switch (method) {
    case 'server/discover':
      if (era === 'legacy') return NO_METHOD;
      return { result: { ...type, supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES } };
    case 'initialize':
      if (era === 'modern') return NO_METHOD;
      return { result: { protocolVersion: '2025-11-25', capabilities: CAPABILITIES } };
    case 'tools/list':
      return { result: { ...type, tools: [{ name: 'hang', inputSchema: { type: 'object' } }] } };
    case 'tools/call':
      return undefined;
    default:
      return { result: type };
  }
}

interface Answer {
  readonly result?: { readonly tools?: { readonly name: string }[] };
  readonly error?: { readonly message?: string; readonly data?: { readonly reason?: string } };
}

/** A client on a channel. */
class ChannelClient {
  readonly #channel: MessageChannel;
  readonly #era: Era;
  readonly #answers: Answer[] = [];

  constructor(era: Era, open: (send: (message: Buffer) => void) => MessageChannel) {
    this.#era = era;
    this.#channel = open((message) => {
      const answer = JSON.parse(message.toString());
      if ('id' in answer) this.#answers.push(answer);
    });
  }

  get answers(): number {
    return this.#answers.length;
  }

  /** Why calls failed. */
  reasons(): Set<string | undefined> {
    return new Set(this.#answers.map(({ error }) => error?.data?.reason));
  }

  /** Why calls failed, as far as the gateway says it. */
  failures(): unknown[] {
    return this.#answers.map(({ error }) => error?.data);
  }

  /** What it was told of errors. */
  messages(): unknown[] {
    return this.#answers.map(({ error }) => error?.message);
  }

  async initialize(capabilities: object): Promise<void> {
    if (this.#era === 'modern') return;
    const clientInfo = { name: 'c', version: '0' };
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo };
    this.send({ id: 'init', method: 'initialize', params });
    const [answer] = await until(() => this.#answers.length > 0 && this.#answers);
    if (answer?.error !== undefined) return;
    this.#answers.length = 0;
    this.send({ method: 'notifications/initialized' });
  }

  close(): void {
    this.#channel.close();
  }

  /** What a tool of server `a` is called here. */
  async tool(own: string): Promise<string> {
    this.#answers.length = 0;
    const params = this.#era === 'modern' ? enveloped({}) : {};
    this.send({ id: 'list', method: 'tools/list', params });
    const listed = await until(() => this.#answers[0]);
    this.#answers.length = 0;
    const names = listed.result?.tools?.map(({ name }) => name) ?? [];
    const name = names.find((one) => one.endsWith(own));
    if (name === undefined) throw new Error(`no tool ${own} among ${names.join()}`);
    return name;
  }

  call(id: string, name: string, args: object, envelope: EnvelopeOptions = {}): void {
    const params = { name, arguments: args };
    this.send({
      id,
      method: 'tools/call',
      params: this.#era === 'modern' ? enveloped(params, envelope) : params,
    });
  }

  cancel(requestId: string): void {
    this.send({ method: 'notifications/cancelled', params: { requestId } });
  }

  send(message: object): void {
    this.#channel.receive(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
  }
}

const text = (era: Era, request: string): string => `
servers:
  a: { command: a, era: ${era}, timeouts: { request: ${request} }, limits: { inFlight: 64 } }
  b: { command: b, era: ${era} }
sessions: { maxInFlight: 256 }
endpoints:
  /limited:
    servers: [a, b]
    shape: { a: { tools: { overrides: { hang: { concurrency: 60 } } } } }
`;

interface WorldOptions {
  /** How long a server may take for an answer. */
  readonly request: string;
  readonly held?: HeldBytes;
}

/** Starts them. */
export async function endpointsInProcess(
  era: Era,
  { request, held = new HeldBytes(heldLimits(2 ** 30, 2 ** 20)) }: WorldOptions,
) {
  const { config } = loadText('in-process', text(era, request), {}, '/in-process');
  const logger = createLogger({ level: 'fatal', messages: false });
  const metrics = new Metrics({ version: '0', node: '0' });
  const got = new Map<string, number>();
  const backends = config.servers.map(
    (server) =>
      new ServerBackend(server, {
        budget: new ProcessBudget(config.processes),
        logger,
        metrics,
        gatewayVersion: '0',
        common: { sessionIdleMs: config.sessions.idle, exposesDetails: true },
        openChannel: (_, { events }) => ({
          isWritable: true,
          pid: 1,
          lastStderrLine: '',
          close: () => Promise.resolve(),
          send: (message) => {
            const { id, method } = JSON.parse(message.toString());
            const counted = `${server.name} ${method}`;
            got.set(counted, (got.get(counted) ?? 0) + 1);
            const answer = id === undefined ? undefined : answerOf(era, method);
            if (answer === undefined) return true;
            const line = JSON.stringify({ jsonrpc: '2.0', id, ...answer });
            queueMicrotask(() => events.received(Buffer.from(line)));
            return true;
          },
        }),
      }),
  );
  const lists = new AllLists(logger);
  const state = createModernState(config.state, lists, held);
  const validators = new ArgumentValidators();
  const pins = new Pins(new Map());
  const parts = { policy: undefined, state, lists, validators, pins, logger, gatewayVersion: '0' };
  const shown = new Map(backends.map((backend) => [backend.name, { backend }]));
  const endpoints = planEndpoints(config, shown, parts).map(({ prefix, make }) => ({
    prefix,
    endpoint: make(),
  }));
  const sessions = new SessionStore(config.sessions);
  const modern = new ModernRequests();
  await Promise.all(backends.map((backend) => backend.start()));
  const channels: MessageChannel[] = [];

  return {
    /** Calls of tools that a server has got. */
    calls: (server: string): number => got.get(`${server} tools/call`) ?? 0,
    /** Messages of a method that a server has got. */
    notices: (server: string, method: string): number => got.get(`${server} ${method}`) ?? 0,
    /**
     * @param path what the endpoint's paths begin with
     * @param key whose it is; undefined: nobody has to say
     */
    client: async (
      path: string,
      clientEra: Era,
      key?: string,
      capabilities: object = {},
    ): Promise<ChannelClient> => {
      const endpoint = endpoints.find(({ prefix }) => prefix === path)?.endpoint;
      if (endpoint === undefined) throw new Error(`no endpoint ${path}`);
      const served = new ServedEndpoint(endpoint, metrics, {
        audit: undefined,
        loads: undefined,
        held,
      });
      const client = new ChannelClient(clientEra, (send) => {
        const channel = new MessageChannel({
          transportName: 'websocket',
          transport: { send, end: () => undefined },
          served,
          principal: key === undefined ? { key: 'anonymous' } : { key, kind: 'key' },
          sessions,
          modern,
        });
        channels.push(channel);
        return channel;
      });
      await client.initialize(capabilities);
      return client;
    },
    close: async (): Promise<void> => {
      for (const channel of channels) channel.close();
      sessions.close();
      state.suspendedCalls.close();
      state.tasks.table.close();
      await Promise.all(backends.map((backend) => backend.close('draining')));
      await validators.close();
    },
  };
}
