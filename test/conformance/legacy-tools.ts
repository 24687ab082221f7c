/**
 * Owns the tools of the legacy fixture, one for each tool scenario of the conformance suite at
 * 2025-06-18 and 2025-11-25. Names, schemas, texts and delays are the suite's; changing one
 * fails a scenario.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolResult,
  type ClientCapabilities,
  CreateMessageResultSchema,
  ElicitResultSchema,
  type ServerNotification,
  type ServerRequest,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import type { InputSchema } from './content.ts';
import { CONTENT_TOOLS, NO_ARGUMENTS, oneString } from './content-tools.ts';
import { DEFAULTS_FORM, ENUMS_FORM, type Form, USER_FORM } from './schemas.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** What a tool gets: its arguments, the request it answers and what the client can be asked. */
export interface ToolCall {
  readonly args: Readonly<Record<string, unknown>>;
  readonly extra: Extra;
  readonly client: ClientCapabilities;
  /** Sends an info log, if the client's level lets it through. */
  readonly log: (text: string) => Promise<void>;
}

/** A tool as listed, and what a call does. */
export interface FixtureTool {
  readonly tool: Tool;
  readonly run: (call: ToolCall) => CallToolResult | Promise<CallToolResult>;
}

/** The pause between two notifications of one call, in ms. The suite asks for about 50. */
const STEP_MS = 50;

function readString(args: ToolCall['args'], name: string): string {
  const value = args[name];
  return typeof value === 'string' ? value : '';
}

function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] };
}

function failure(value: string): CallToolResult {
  return { ...text(value), isError: true };
}

async function runWithLogging({ log }: ToolCall): Promise<CallToolResult> {
  await log('Tool execution started');
  await delay(STEP_MS);
  await log('Tool processing data');
  await delay(STEP_MS);
  await log('Tool execution completed');
  return text('Tool with logging executed successfully');
}

async function runWithProgress({ extra }: ToolCall): Promise<CallToolResult> {
  const progressToken = extra._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progress > 0) await delay(STEP_MS);
    if (progressToken === undefined) continue;
    // The last one goes out right next to the result: a gateway that reorders them loses it.
    await extra.sendNotification({
      method: 'notifications/progress',
      params: { progressToken, progress, total: 100, message: `Completed ${progress} of 100` },
    });
  }
  return text('Tool with progress executed successfully');
}

/**
 * Over HTTP drops the stream before the answer; stdio has no stream to drop, it only waits. The log
 * makes a gateway that answers fast calls as plain JSON open a stream, so that there is one to check.
 */
async function runReconnection({ extra, log }: ToolCall): Promise<CallToolResult> {
  await log('Reconnection test started');
  extra.closeSSEStream?.();
  await delay(100);
  return text('Reconnection test completed successfully');
}

async function runSampling({ args, extra, client }: ToolCall): Promise<CallToolResult> {
  if (client.sampling === undefined) return failure('The client does not support sampling');
  const prompt = readString(args, 'prompt');
  const answer = await extra.sendRequest(
    {
      method: 'sampling/createMessage',
      params: {
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: 100,
      },
    },
    CreateMessageResultSchema,
  );
  const said = answer.content.type === 'text' ? answer.content.text : `[${answer.content.type}]`;
  return text(`LLM response: ${said}`);
}

/** Asks the user with `form`; the answer is reported after `lead`. */
async function elicit(
  { extra, client }: ToolCall,
  message: string,
  form: Form,
  lead: string,
): Promise<CallToolResult> {
  if (client.elicitation === undefined) return failure('The client does not support elicitation');
  const answer = await extra.sendRequest(
    { method: 'elicitation/create', params: { message, requestedSchema: form } },
    ElicitResultSchema,
  );
  return text(`${lead}action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);
}

function define(
  name: string,
  description: string,
  run: FixtureTool['run'],
  inputSchema: InputSchema = NO_ARGUMENTS,
): FixtureTool {
  return { tool: { name, description, inputSchema }, run };
}

const TALKING_TOOLS: readonly FixtureTool[] = [
  define('test_tool_with_logging', 'Sends three logs while it runs', runWithLogging),
  define('test_tool_with_progress', 'Reports progress while it runs', runWithProgress),
  define('test_reconnection', 'Drops its stream and answers 100 ms later', runReconnection),
  define(
    'test_sampling',
    'Asks the client for a completion',
    runSampling,
    oneString('prompt', 'The prompt for the model'),
  ),
  define(
    'test_elicitation',
    'Asks the user for a name and an address',
    (call) => elicit(call, readString(call.args, 'message'), USER_FORM, 'User response: '),
    oneString('message', 'The message for the user'),
  ),
  define('test_elicitation_sep1034_defaults', 'Asks with a default for each field', (call) =>
    elicit(call, 'Please review the values', DEFAULTS_FORM, 'Elicitation completed: '),
  ),
  define('test_elicitation_sep1330_enums', 'Asks with every kind of choice', (call) =>
    elicit(call, 'Please choose', ENUMS_FORM, 'Elicitation completed: '),
  ),
];

/** Every tool of the fixture, by name, in the order of `tools/list`. */
export const TOOLS: ReadonlyMap<string, FixtureTool> = new Map(
  [
    ...CONTENT_TOOLS.map(({ result, ...tool }): FixtureTool => ({ tool, run: () => result })),
    ...TALKING_TOOLS,
  ].map((entry) => [entry.tool.name, entry]),
);
