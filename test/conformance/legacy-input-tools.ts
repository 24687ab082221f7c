/**
 * Owns the tools and the prompt of the legacy fixture for the scenarios at 2026-07-28: they ask the
 * client in the way of the session era, which a modern client sees only through a gateway. Names and
 * fields are the suite's.
 */

import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { NO_ARGUMENTS } from './content-tools.ts';
import type { FixtureTool, ToolCall } from './legacy-tools.ts';
import { fromUser, type Messages } from './prompts.ts';

type Extra = ToolCall['extra'];

/** Asks until the field is there: the suite sends answers without it. */
async function askForm(extra: Extra, field: string, type: 'string' | 'boolean'): Promise<unknown> {
  const schema = type === 'string' ? ({ type: 'string' } as const) : ({ type: 'boolean' } as const);
  const params = {
    message: `Please give ${field}`,
    requestedSchema: {
      type: 'object' as const,
      properties: { [field]: schema },
      required: [field],
    },
  };
  for (;;) {
    const answer = await extra.sendRequest(
      { method: 'elicitation/create', params },
      ElicitResultSchema,
    );
    if (answer.action !== 'accept') return undefined;
    const value = answer.content?.[field];
    if (typeof value === type) return value;
  }
}

async function askModel(extra: Extra, prompt: string): Promise<string> {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
  const { content } = await extra.sendRequest(
    { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } },
    CreateMessageResultSchema,
  );
  return JSON.stringify(content);
}

async function askRoots(extra: Extra): Promise<string> {
  const { roots } = await extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema);
  return JSON.stringify(roots);
}

async function askEverything(extra: Extra): Promise<string> {
  const answers = await Promise.all([
    askForm(extra, 'name', 'string'),
    askModel(extra, 'Write a greeting.'),
    askRoots(extra),
  ]);
  return JSON.stringify(answers);
}

/** Asks for all, and lives with what the client does not offer. */
async function askWhatIsOffered(extra: Extra): Promise<string> {
  const answers = await Promise.allSettled([
    askForm(extra, 'name', 'string'),
    askModel(extra, 'Say something.'),
  ]);
  return answers.map(({ status }) => status).join(', ');
}

async function askTwice(extra: Extra): Promise<string> {
  const name = await askForm(extra, 'name', 'string');
  return `${String(name)} likes ${String(await askForm(extra, 'color', 'string'))}`;
}

async function confirm(extra: Extra, text: string): Promise<string> {
  return (await askForm(extra, 'ok', 'boolean')) === true ? text : 'not confirmed';
}

/** Tells that a list changed, soon after its own answer. */
async function tellChange(extra: Extra, kind: 'tools' | 'prompts'): Promise<string> {
  await extra.sendNotification({ method: `notifications/${kind}/list_changed` });
  return 'changed';
}

/** An error of the protocol, where a tool's failure would be a result. */
async function needSampling(extra: Extra): Promise<string> {
  try {
    return await askModel(extra, 'Anything?');
  } catch (cause) {
    throw new McpError(-32_603, `Sampling failed: ${String(cause)}`);
  }
}

type Run = (extra: Extra, call: ToolCall) => Promise<string>;

const RUNS: Readonly<Record<string, Run>> = {
  test_input_required_result_elicitation: async (extra) =>
    `Hello, ${String(await askForm(extra, 'name', 'string'))}!`,
  test_input_required_result_sampling: (extra) => askModel(extra, 'What is the capital of France?'),
  test_input_required_result_list_roots: askRoots,
  test_input_required_result_request_state: (extra) => confirm(extra, 'state-ok'),
  test_input_required_result_multiple_inputs: askEverything,
  test_input_required_result_multi_round: askTwice,
  test_input_required_result_tampered_state: (extra) => confirm(extra, 'confirmed'),
  test_input_required_result_capabilities: askWhatIsOffered,
  test_missing_capability: needSampling,
  test_streaming_elicitation: async (extra) => String(await askForm(extra, 'name', 'string')),
  test_logging_tool: async (_, { log }) => {
    await log('logged');
    await delay(10);
    return 'logged';
  },
  test_trigger_tool_change: (extra) => tellChange(extra, 'tools'),
  test_trigger_prompt_change: (extra) => tellChange(extra, 'prompts'),
};

/** Those tools. */
export const INPUT_TOOLS: readonly FixtureTool[] = Object.entries(RUNS).map(([name, run]) => ({
  tool: {
    name,
    description: `Tool of the scenarios at 2026-07-28: ${name}`,
    inputSchema: NO_ARGUMENTS,
  },
  run: async (call) => ({ content: [{ type: 'text', text: await run(call.extra, call) }] }),
}));

/** The messages of `test_input_required_result_prompt`. */
export async function promptWithInput(extra: Extra): Promise<Messages> {
  const context = String(await askForm(extra, 'context', 'string'));
  return fromUser({ type: 'text', text: `Context: ${context}` });
}
