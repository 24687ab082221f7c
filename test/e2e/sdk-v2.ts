/**
 * The official TypeScript SDK 2.x as a client. It has no WebSocket transport.
 */
import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import {
  type CallOptions,
  capabilitiesOf,
  SdkClient,
  type ToolResult,
  type TransportKind,
  type User,
  urlFor,
} from './sdk-client.ts';

function transportTo(url: URL, kind: TransportKind): Transport {
  if (kind === 'websocket') throw new RangeError('the 2.x SDK has no WebSocket transport');
  return kind === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

class V2Client extends SdkClient {
  protected readonly client: Client;
  readonly #transport: Transport;

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

  async call(
    name: string,
    args: Record<string, unknown> = {},
    { onProgress, signal }: CallOptions = {},
  ): Promise<ToolResult> {
    const result = await this.client.callTool(
      { name, arguments: args },
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
 * @param mode `legacy` speaks the legacy versions only, `auto` asks for the modern one first
 */
export async function connectV2(
  base: string,
  kind: TransportKind,
  user: User,
  mode: 'legacy' | 'auto' = 'legacy',
): Promise<SdkClient & { readonly era: string | undefined }> {
  return await new V2Client(urlFor(base, kind), kind, user, mode).connect();
}
