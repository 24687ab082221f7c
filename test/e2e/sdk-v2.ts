/**
 * The official TypeScript SDK 2.x as a client. It has no WebSocket transport.
 */
import {
  Client,
  LOG_LEVEL_META_KEY,
  type McpSubscription,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  type CallOptions,
  capabilitiesOf,
  connectCommand,
  type LogLevel,
  SdkClient,
  type ToolResult,
  type TransportKind,
  type User,
  urlFor,
} from './sdk-client.ts';

function transportTo(url: URL, kind: TransportKind): Transport {
  switch (kind) {
    case 'streamable-http':
      return new StreamableHTTPClientTransport(url);
    case 'sse':
      return new SSEClientTransport(url);
    case 'stdio':
      return new StdioClientTransport(connectCommand(url));
    case 'websocket':
      throw new RangeError('the 2.x SDK has no WebSocket transport');
  }
}

class V2Client extends SdkClient {
  protected readonly client: Client;
  readonly #transport: Transport;
  readonly #listens = new Map<string, McpSubscription>();
  /** What modern requests ask for; legacy servers are told once. */
  #level: LogLevel | undefined;

  constructor(url: URL, kind: TransportKind, user: User, mode: VersionNegotiationMode) {
    super(user);
    this.#transport = transportTo(url, kind);
    this.client = new Client(
      { name: 'sdk-v2', version: '2.0.0' },
      { capabilities: capabilitiesOf(user), versionNegotiation: { mode } },
    );
    this.client.setNotificationHandler('notifications/message', ({ params }) => {
      this.logs.push(String(params.data));
    });
    this.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      this.updates.push(params.uri);
    });
    this.client.onerror = (error) => this.noteError(error);
    // The SDK refuses a handler without its capability.
    if (user.roots !== undefined) {
      this.client.setRequestHandler('roots/list', () => this.answerRoots());
    }
    if (user.answersQuestions === false) return;
    this.client.setRequestHandler('sampling/createMessage', ({ params }) =>
      this.answerSampling(params.messages[0]?.content),
    );
    this.client.setRequestHandler('elicitation/create', ({ params }) =>
      this.answerForm(params.message),
    );
  }

  /** The era that was agreed on. */
  get era(): string | undefined {
    return this.client.getProtocolEra();
  }

  async connect(): Promise<this> {
    await this.client.connect(this.#transport);
    return this;
  }

  override async setLevel(level: LogLevel): Promise<void> {
    if (this.era === 'modern') this.#level = level;
    else await super.setLevel(level);
  }

  override async subscribe(uri: string): Promise<void> {
    if (this.era !== 'modern') return await super.subscribe(uri);
    const listen = await this.client.listen({ resourceSubscriptions: [uri] });
    this.#listens.set(uri, listen);
    if (listen.honoredFilter.resourceSubscriptions?.includes(uri) !== true) {
      throw new Error(`the server does not watch ${uri}`);
    }
  }

  override async unsubscribe(uri: string): Promise<void> {
    if (this.era !== 'modern') await super.unsubscribe(uri);
    else await this.#listens.get(uri)?.close();
  }

  async call(
    name: string,
    args: Record<string, unknown> = {},
    { onProgress, signal }: CallOptions = {},
  ): Promise<ToolResult> {
    const result = await this.client.callTool(
      {
        name,
        arguments: args,
        ...(this.#level ? { _meta: { [LOG_LEVEL_META_KEY]: this.#level } } : {}),
      },
      {
        ...(onProgress
          ? { onprogress: ({ progress, total }) => onProgress({ progress, total }) }
          : {}),
        ...(signal ? { signal } : {}),
      },
    );
    return this.toolResult(result);
  }

  protected async endSession(): Promise<void> {
    if (this.#transport instanceof StreamableHTTPClientTransport) {
      await this.#transport.terminateSession();
    }
  }
}

/**
 * Connects a client of the 2.x SDK.
 * @param mode `legacy` speaks the legacy versions only, `auto` asks for the modern one first, `modern`
 *   speaks nothing else
 */
export async function connectV2(
  base: string,
  kind: TransportKind,
  user: User,
  mode: 'legacy' | 'auto' | 'modern' = 'legacy',
): Promise<SdkClient & { readonly era: string | undefined }> {
  const negotiation = mode === 'modern' ? { pin: '2026-07-28' } : mode;
  return await new V2Client(urlFor(base, kind), kind, user, negotiation).connect();
}
