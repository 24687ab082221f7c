/**
 * The official TypeScript SDK 1.x as a client.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  type CallOptions,
  capabilitiesOf,
  connectCommand,
  SdkClient,
  type ToolResult,
  type TransportKind,
  type User,
  urlFor,
} from './sdk-client.ts';

function transportTo(url: URL, kind: TransportKind): Transport {
  switch (kind) {
    case 'streamable-http':
      // The SDK's own types disagree under exactOptionalPropertyTypes (`sessionId?: string`).
      return new StreamableHTTPClientTransport(url) as Transport;
    case 'sse':
      return new SSEClientTransport(url);
    case 'websocket':
      return new WebSocketClientTransport(url);
    case 'stdio':
      return new StdioClientTransport(connectCommand(url));
  }
}

class V1Client extends SdkClient {
  protected readonly client: Client;
  readonly #transport: Transport;

  constructor(url: URL, kind: TransportKind, user: User) {
    super(user);
    this.#transport = transportTo(url, kind);
    const capabilities = capabilitiesOf(user);
    this.client = new Client({ name: 'sdk-v1', version: '1.0.0' }, { capabilities });
    this.client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      this.logs.push(String(params.data));
    });
    this.client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      this.updates.push(params.uri);
    });
    this.client.onerror = (error) => this.noteError(error);
    // The SDK refuses a handler without its capability.
    if (user.roots !== undefined) {
      this.client.setRequestHandler(ListRootsRequestSchema, () => this.answerRoots());
    }
    if (user.answersQuestions === false) return;
    this.client.setRequestHandler(CreateMessageRequestSchema, ({ params }) =>
      this.answerSampling(params.messages[0]?.content),
    );
    this.client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      this.answerForm(params.message),
    );
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
    const result = await this.client.callTool({ name, arguments: args }, undefined, {
      ...(onProgress
        ? { onprogress: ({ progress, total }) => onProgress({ progress, total }) }
        : {}),
      ...(signal ? { signal } : {}),
    });
    return this.toolResult(result);
  }

  protected async endSession(): Promise<void> {
    if (this.#transport instanceof StreamableHTTPClientTransport) {
      await this.#transport.terminateSession();
    }
  }
}

/** Connects a client of the 1.x SDK. */
export async function connectV1(base: string, kind: TransportKind, user: User): Promise<SdkClient> {
  return await new V1Client(urlFor(base, kind), kind, user).connect();
}
