/**
 * What the tests here need of an official SDK's client, whatever its major version: connecting over a
 * transport, the requests, and a user at the client's end who answers every question with a secret.
 */
import { join } from 'node:path';
import { ROOT } from '../support/root.ts';

/** The transports that an SDK has; over stdio it starts `sluice connect`. */
export type TransportKind = 'streamable-http' | 'sse' | 'websocket' | 'stdio';

/** The last part of the path that serves a transport. */
const PATH_OF: Readonly<Record<TransportKind, string>> = {
  'streamable-http': 'mcp',
  sse: 'sse',
  websocket: 'ws',
  stdio: 'mcp',
};

/** Somebody who sits at a client. */
export interface User {
  /** What every question that reaches this client is answered with. */
  readonly secret: string;
  /** The client tells its server that it can be asked. Default true. */
  readonly answersQuestions?: boolean;
  /** The client offers these URIs as its roots. Default: it has none and does not say that it could. */
  readonly roots?: readonly string[];
}

export interface Progress {
  readonly progress: number;
  readonly total: number | undefined;
}

export interface CallOptions {
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
}

export interface ToolResult {
  /** The text items, one after the other. */
  readonly text: string;
  readonly isError: boolean;
  readonly structured: unknown;
  /** Of the resources that it links to or embeds. */
  readonly uris: readonly string[];
}

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';

interface PromptArgument {
  readonly name: string;
  readonly value: string;
}

/** The part of `Client` that both SDKs have with the same shape. */
interface CommonClient {
  getServerVersion(): { readonly name: string } | undefined;
  getInstructions(): string | undefined;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>;
  getPrompt(params: {
    name: string;
    arguments: Record<string, string>;
  }): Promise<{ readonly messages: readonly { readonly content: unknown }[] }>;
  complete(params: {
    ref: { type: 'ref/prompt'; name: string };
    argument: PromptArgument;
    context: { arguments: Record<string, string> };
  }): Promise<{ readonly completion: { readonly values: string[] } }>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  listResourceTemplates(): Promise<{
    readonly resourceTemplates: readonly { readonly uriTemplate: string }[];
  }>;
  readResource(params: {
    uri: string;
  }): Promise<{ readonly contents: readonly ({ text: string } | { blob: string })[] }>;
  subscribeResource(params: { uri: string }): Promise<unknown>;
  unsubscribeResource(params: { uri: string }): Promise<unknown>;
  setLoggingLevel(level: LogLevel): Promise<unknown>;
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

/** What a user's client declares to the server. */
export function capabilitiesOf(user: User): {
  sampling?: Record<string, never>;
  elicitation?: { form: Record<string, never> };
  roots?: Record<string, never>;
} {
  const roots = user.roots === undefined ? {} : { roots: {} };
  return user.answersQuestions === false
    ? roots
    : { sampling: {}, elicitation: { form: {} }, ...roots };
}

/** The URL that serves `kind` of the server at `base` (with no slash at its end). */
export function urlFor(base: string, kind: TransportKind): URL {
  const url = `${base}/${PATH_OF[kind]}`;
  return new URL(kind === 'websocket' ? url.replace(/^http/, 'ws') : url);
}

/** The command that serves on stdio what is at `url`. */
export function connectCommand(url: URL): { command: string; args: string[]; stderr: 'ignore' } {
  const args = [join(ROOT, 'src/main.ts'), 'connect', url.href];
  return { command: process.execPath, args, stderr: 'ignore' };
}

/** A connected client. */
export abstract class SdkClient {
  readonly user: User;
  /** What reached this client, oldest first: the text of every question, */
  readonly questions: string[] = [];
  /** the data of every log message, */
  readonly logs: string[] = [];
  /** and the URI of every update. */
  readonly updates: string[] = [];
  /** Progress that the SDK had no handler for any more. */
  lateProgress = 0;
  /** Answers to what was not asked, or was answered before. */
  readonly unasked: string[] = [];

  constructor(user: User) {
    this.user = user;
  }

  protected abstract get client(): CommonClient;

  abstract call(
    name: string,
    args?: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<ToolResult>;

  /** Ends a session of Streamable HTTP, which outlives its connections. */
  protected abstract endSession(): Promise<void>;

  get serverName(): string | undefined {
    return this.client.getServerVersion()?.name;
  }

  get instructions(): string | undefined {
    return this.client.getInstructions();
  }

  async listTools(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  async listPrompts(): Promise<string[]> {
    return (await this.client.listPrompts()).prompts.map(({ name }) => name);
  }

  /** @returns the text of the first message */
  async getPrompt(name: string, args: Record<string, string> = {}): Promise<string> {
    const { messages } = await this.client.getPrompt({ name, arguments: args });
    return textOf(messages[0]?.content);
  }

  async completePrompt(
    name: string,
    argument: PromptArgument,
    known: Record<string, string> = {},
  ): Promise<string[]> {
    const { completion } = await this.client.complete({
      ref: { type: 'ref/prompt', name },
      argument,
      context: { arguments: known },
    });
    return completion.values;
  }

  async listResources(): Promise<string[]> {
    return (await this.client.listResources()).resources.map(({ uri }) => uri);
  }

  async listTemplates(): Promise<string[]> {
    const { resourceTemplates } = await this.client.listResourceTemplates();
    return resourceTemplates.map(({ uriTemplate }) => uriTemplate);
  }

  /** @returns the text, or the base64 of a blob */
  async read(uri: string): Promise<string> {
    const [first] = (await this.client.readResource({ uri })).contents;
    if (first === undefined) throw new Error(`no contents at ${uri}`);
    return 'text' in first ? first.text : first.blob;
  }

  async subscribe(uri: string): Promise<void> {
    await this.client.subscribeResource({ uri });
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.client.unsubscribeResource({ uri });
  }

  async setLevel(level: LogLevel): Promise<void> {
    await this.client.setLoggingLevel(level);
  }

  async ping(): Promise<void> {
    await this.client.ping();
  }

  async close(): Promise<void> {
    await this.endSession();
    await this.client.close();
  }

  /** Takes what the SDK reports besides the failures of calls. */
  protected noteError(error: Error): void {
    if (error.message.includes('progress notification for an unknown token')) this.lateProgress++;
    if (error.message.includes('unknown message ID')) this.unasked.push(error.message);
  }

  /** The user's answer to `sampling/createMessage`. */
  protected answerSampling(content: unknown): {
    model: string;
    role: 'assistant';
    content: { type: 'text'; text: string };
  } {
    this.questions.push(textOf(content));
    const { secret } = this.user;
    return { model: 'a-user', role: 'assistant', content: { type: 'text', text: secret } };
  }

  /** The user's answer to `roots/list`. */
  protected answerRoots(): { roots: { uri: string }[] } {
    return { roots: (this.user.roots ?? []).map((uri) => ({ uri })) };
  }

  /** The user's answer to a form. */
  protected answerForm(message: string): { action: 'accept'; content: { name: string } } {
    this.questions.push(message);
    return { action: 'accept', content: { name: this.user.secret } };
  }

  protected toolResult(result: Readonly<Record<string, unknown>>): ToolResult {
    const items: unknown[] = Array.isArray(result['content']) ? result['content'] : [];
    return {
      text: items.map(textOf).join('\n'),
      isError: result['isError'] === true,
      structured: result['structuredContent'],
      uris: items.flatMap(uriOf),
    };
  }
}

/** Connects a client of one SDK to the server at `base`. */
export type Connect = (base: string, kind: TransportKind, user: User) => Promise<SdkClient>;

/** The URI of a content block that is a link or an embedded resource. */
function uriOf(content: unknown): string[] {
  const block = content as { readonly uri?: unknown; readonly resource?: unknown };
  if (typeof block.uri === 'string') return [block.uri];
  return block.resource === undefined ? [] : uriOf(block.resource);
}

/** The text of a content block, or of the first of several; empty when it has none. */
function textOf(content: unknown): string {
  const block: unknown = Array.isArray(content) ? content[0] : content;
  const text = (block as { readonly text?: unknown } | undefined)?.text;
  return typeof text === 'string' ? text : '';
}
