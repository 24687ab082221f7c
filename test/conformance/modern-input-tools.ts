/**
 * Owns the tools and the prompt of the modern fixture that 2026-07-28 brought: questions in results,
 * with states of the server's own, and the diagnostics of `server-stateless`. Names, keys and fields are
 * the suite's.
 */

import { randomBytes } from 'node:crypto';
import {
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { NO_ARGUMENTS } from './content-tools.ts';
import {
  askField,
  askModel,
  type ModernCall,
  type ModernTool,
  readAnswer,
  readField,
  text,
} from './modern-call.ts';
import { fromUser, type Messages } from './prompts.ts';

/** What a state says: which round's answers come with it, and what the rounds before brought. */
interface State {
  readonly round: number;
  readonly name?: string;
}

/** Signs the states and checks them; the SDK refuses a call whose state it did not sign. */
export const STATES = createRequestStateCodec<State>({ key: randomBytes(32) });

async function ask(inputRequests: InputRequests, state?: State): Promise<InputRequiredResult> {
  if (state === undefined) return inputRequired({ inputRequests });
  return inputRequired({ inputRequests, requestState: await STATES.mint(state) });
}

async function askName({ ctx }: ModernCall) {
  const name = readField(ctx, 'user_name', 'name');
  if (typeof name === 'string') return text(`Hello, ${name}!`);
  return await ask({ user_name: askField('name') });
}

async function askCapital({ ctx }: ModernCall) {
  const answer = readAnswer(ctx, 'capital_question');
  if (answer !== undefined) return text(JSON.stringify(answer));
  return await ask({ capital_question: askModel('What is the capital of France?') });
}

async function askRoots({ ctx }: ModernCall) {
  const answer = readAnswer(ctx, 'client_roots');
  if (answer !== undefined) return text(JSON.stringify(answer));
  return await ask({ client_roots: inputRequired.listRoots() });
}

/** Asks for a yes under a state, and wants both back. */
async function confirm({ ctx }: ModernCall, done: string) {
  const ok = readField(ctx, 'confirm', 'ok');
  const state = ctx.mcpReq.requestState<State>();
  if (typeof ok === 'boolean' && state !== undefined) return text(ok ? done : 'not confirmed');
  return await ask({ confirm: askField('ok', 'boolean') }, { round: 1 });
}

async function askEverything({ ctx }: ModernCall) {
  const name = readField(ctx, 'user_name', 'name');
  const greeting = readAnswer(ctx, 'greeting');
  const roots = readAnswer(ctx, 'client_roots');
  if (name !== undefined && greeting !== undefined && roots !== undefined) {
    return text(JSON.stringify([name, greeting, roots]));
  }
  const questions = {
    user_name: askField('name'),
    greeting: askModel('Write a greeting.'),
    client_roots: inputRequired.listRoots(),
  };
  return await ask(questions, { round: 1 });
}

async function askTwice({ ctx }: ModernCall) {
  const state = ctx.mcpReq.requestState<State>();
  const name = readField(ctx, 'step1', 'name');
  const color = readField(ctx, 'step2', 'color');
  if (state?.round === 2 && color !== undefined) {
    return text(`${state.name ?? ''} likes ${String(color)}`);
  }
  if (state?.round === 1 && typeof name === 'string') {
    return await ask({ step2: askField('color') }, { round: 2, name });
  }
  return await ask({ step1: askField('name') }, { round: 1 });
}

/** Asks only for what this request's client declared. */
async function askWhatIsOffered({ ctx, client }: ModernCall) {
  if (ctx.mcpReq.inputResponses !== undefined) return text('answered');
  const questions: InputRequests = {};
  if (client.elicitation !== undefined) questions['user_name'] = askField('name');
  if (client.sampling !== undefined) questions['greeting'] = askModel('Say something.');
  if (client.roots !== undefined) questions['client_roots'] = inputRequired.listRoots();
  return Object.keys(questions).length === 0 ? text('nothing to ask') : await ask(questions);
}

/** Always asks the model: the SDK refuses it when the client has none. */
async function needSampling({ ctx }: ModernCall) {
  const answer = readAnswer(ctx, 'answer');
  return answer === undefined ? await ask({ answer: askModel('Anything?') }) : text('answered');
}

async function logOnce({ ctx }: ModernCall) {
  await ctx.mcpReq.log('info', 'logged', 'conformance');
  return text('logged');
}

async function tellChange({ tellChange: tell }: ModernCall, kind: 'tools' | 'prompts') {
  await tell(kind);
  return text('changed');
}

const RUNS: Readonly<Record<string, ModernTool['run']>> = {
  test_input_required_result_elicitation: askName,
  test_input_required_result_sampling: askCapital,
  test_input_required_result_list_roots: askRoots,
  test_input_required_result_request_state: (call) => confirm(call, 'state-ok'),
  test_input_required_result_multiple_inputs: askEverything,
  test_input_required_result_multi_round: askTwice,
  test_input_required_result_tampered_state: (call) => confirm(call, 'confirmed'),
  test_input_required_result_capabilities: askWhatIsOffered,
  test_missing_capability: needSampling,
  test_streaming_elicitation: askName,
  test_logging_tool: logOnce,
  test_trigger_tool_change: (call) => tellChange(call, 'tools'),
  test_trigger_prompt_change: (call) => tellChange(call, 'prompts'),
};

/** Those tools. */
export const MODERN_INPUT_TOOLS: readonly ModernTool[] = Object.entries(RUNS).map(
  ([name, run]) => ({
    tool: {
      name,
      description: `Tool of the scenarios at 2026-07-28: ${name}`,
      inputSchema: NO_ARGUMENTS,
    },
    run,
  }),
);

/** What the prompt that asks answers. */
export async function promptThatAsks(ctx: ServerContext): Promise<Messages | InputRequiredResult> {
  const context = readField(ctx, 'user_context', 'context');
  if (context === undefined) return await ask({ user_context: askField('context') });
  return fromUser({ type: 'text', text: `Context: ${String(context)}` });
}
