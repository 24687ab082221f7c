/**
 * Owns what the tools of the modern fixture share: the shape of a call, and how it asks. At 2026-07-28 a
 * server asks in its result (`input_required`) and is called again with the answers, so every tool is
 * a function of what has come so far.
 */

import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { CreatedTask } from './modern-task.ts';
import type { TaskTable } from './modern-task-table.ts';

/** Tells listeners that a list changed. How depends on the transport. */
export type TellChange = (kind: 'tools' | 'prompts') => void | Promise<void>;

/** What a tool gets: its arguments, its request, what the client can do, and what outlives a call. */
export interface ModernCall {
  readonly args: Readonly<Record<string, unknown>>;
  readonly ctx: ServerContext;
  /** What this request's envelope declares. */
  readonly client: ClientCapabilities;
  readonly tasks: TaskTable;
  readonly tellChange: TellChange;
}

type ModernResult = CallToolResult | InputRequiredResult | CreatedTask;

/** A tool as listed, and what a call does. */
export interface ModernTool {
  readonly tool: Tool;
  readonly run: (call: ModernCall) => ModernResult | Promise<ModernResult>;
}

/** A result with one text. */
export function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] };
}

/** What the envelope of this request declares. */
export function readClient({ mcpReq }: ServerContext): ClientCapabilities {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  // The SDK checked it before it called the handler, but its type of the envelope has no members.
  return (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities;
}

/** A question for the user: a form with one field. */
export function askField(field: string, type: 'string' | 'boolean' = 'string'): InputRequest {
  const schema = type === 'string' ? ({ type: 'string' } as const) : ({ type: 'boolean' } as const);
  return inputRequired.elicit({
    message: `Please give ${field}`,
    requestedSchema: { type: 'object', properties: { [field]: schema }, required: [field] },
  });
}

/** A question for the client's model. */
export function askModel(prompt: string): InputRequest {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
  return inputRequired.createMessage({ messages, maxTokens: 100 });
}

/**
 * The value of a field in the user's answer.
 * @param key the question's key
 * @returns undefined when it was not answered, not accepted, or answered without the field
 */
export function readField(ctx: ServerContext, key: string, field: string): unknown {
  return acceptedContent(ctx.mcpReq.inputResponses, key)?.[field];
}

/**
 * The answer to a question as it came.
 * @param key the question's key
 */
export function readAnswer(ctx: ServerContext, key: string): unknown {
  return ctx.mcpReq.inputResponses?.[key];
}
