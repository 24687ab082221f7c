/**
 * Owns the tools of the modern fixture for the scenarios that are older than 2026-07-28: content, logs,
 * progress, and one question each. Names, schemas, texts and delays are the suite's.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { inputRequired } from '@modelcontextprotocol/server';
import type { InputSchema } from './content.ts';
import { CONTENT_TOOLS, NO_ARGUMENTS, oneString } from './content-tools.ts';
import { askModel, type ModernCall, type ModernTool, readAnswer, text } from './modern-call.ts';
import { DEFAULTS_FORM, ENUMS_FORM, type Form, USER_FORM } from './schemas.ts';

/** The pause between two notifications of one call, in ms. The suite asks for about 50. */
const STEP_MS = 50;
/** Longer than the gateway waits before it opens a stream, in ms. */
const STREAM_MS = 2_500;

async function log({ ctx }: ModernCall, data: string): Promise<void> {
  await ctx.mcpReq.log('info', data, 'conformance');
}

async function runWithLogging(call: ModernCall) {
  await log(call, 'Tool execution started');
  await delay(STEP_MS);
  await log(call, 'Tool processing data');
  await delay(STEP_MS);
  await log(call, 'Tool execution completed');
  return text('Tool with logging executed successfully');
}

async function runWithProgress({ ctx }: ModernCall) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progress > 0) await delay(STEP_MS);
    if (progressToken === undefined) continue;
    // The last one goes out right next to the result: a gateway that reorders them loses it.
    await ctx.mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken, progress, total: 100, message: `Completed ${progress} of 100` },
    });
  }
  return text('Tool with progress executed successfully');
}

/**
 * Stdio has no stream to drop. It takes so long that the gateway opens one, since there is none to check
 * otherwise: a server of this revision does not log unasked.
 */
async function runReconnection() {
  await delay(STREAM_MS);
  return text('Reconnection test completed successfully');
}

function runSampling({ args, ctx }: ModernCall) {
  const answer = readAnswer(ctx, 'answer');
  if (answer !== undefined) return text(`LLM response: ${JSON.stringify(answer)}`);
  return inputRequired({ inputRequests: { answer: askModel(String(args['prompt'])) } });
}

/** Asks the user with `form`; the answer is reported after `lead`. */
function elicit(ctx: ModernCall['ctx'], message: string, form: Form, lead: string) {
  const answer = readAnswer(ctx, 'answer');
  if (typeof answer === 'object' && answer !== null && 'action' in answer) {
    const content = 'content' in answer ? answer.content : {};
    return text(`${lead}action=${String(answer.action)}, content=${JSON.stringify(content)}`);
  }
  const question = inputRequired.elicit({ message, requestedSchema: form });
  return inputRequired({ inputRequests: { answer: question } });
}

function define(
  name: string,
  description: string,
  run: ModernTool['run'],
  inputSchema: InputSchema = NO_ARGUMENTS,
): ModernTool {
  return { tool: { name, description, inputSchema }, run };
}

/** Those tools, in the order of `tools/list`. */
export const MODERN_TOOLS: readonly ModernTool[] = [
  ...CONTENT_TOOLS.map(({ result, ...tool }) => ({ tool, run: () => result })),
  define('test_tool_with_logging', 'Sends three logs while it runs', runWithLogging),
  define('test_tool_with_progress', 'Reports progress while it runs', runWithProgress),
  define('test_reconnection', 'Answers late', runReconnection),
  define(
    'test_sampling',
    'Asks the client for a completion',
    runSampling,
    oneString('prompt', 'The prompt for the model'),
  ),
  define(
    'test_elicitation',
    'Asks the user for a name and an address',
    ({ args, ctx }) => elicit(ctx, String(args['message']), USER_FORM, 'User response: '),
    oneString('message', 'The message for the user'),
  ),
  define('test_elicitation_sep1034_defaults', 'Asks with a default for each field', ({ ctx }) =>
    elicit(ctx, 'Please review the values', DEFAULTS_FORM, 'Elicitation completed: '),
  ),
  define('test_elicitation_sep1330_enums', 'Asks with every kind of choice', ({ ctx }) =>
    elicit(ctx, 'Please choose', ENUMS_FORM, 'Elicitation completed: '),
  ),
];
