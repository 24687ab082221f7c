/**
 * Owns the tools of the modern fixture that make tasks (SEP-2663): work that takes time, fails, or asks
 * on its way. Names, arguments and texts are the suite's.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { type CallToolResult, inputRequired } from '@modelcontextprotocol/server';
import { NO_ARGUMENTS, oneString } from './content-tools.ts';
import { askField, type ModernTool, readField, text } from './modern-call.ts';
import type { TaskDesk } from './modern-task.ts';
import { requireTasks, takesTasks } from './modern-task-table.ts';

/** How long a job works before it fails, in ms. */
const JOB_MS = 200;

async function compute(seconds: number, signal: AbortSignal): Promise<CallToolResult> {
  await delay(seconds * 1000, undefined, { signal });
  return text(`computed for ${seconds} s`);
}

async function failJob({ signal }: TaskDesk): Promise<CallToolResult> {
  await delay(JOB_MS, undefined, { signal });
  return { ...text('This job always fails'), isError: true };
}

async function breakJob({ signal }: TaskDesk): Promise<CallToolResult> {
  await delay(JOB_MS, undefined, { signal });
  throw new Error('This job always breaks');
}

/** A tool that only makes tasks. */
function always(
  name: string,
  work: (desk: TaskDesk, args: Readonly<Record<string, unknown>>) => Promise<CallToolResult>,
  inputSchema = NO_ARGUMENTS,
): ModernTool {
  return {
    tool: { name, description: `Always makes a task: ${name}`, inputSchema },
    run: ({ args, ctx, tasks }) => {
      requireTasks(ctx);
      return tasks.create((desk) => work(desk, args));
    },
  };
}

const GREET: ModernTool = {
  tool: {
    name: 'greet',
    description: 'Greets, and never makes a task',
    inputSchema: oneString('name', 'Who is greeted'),
  },
  run: ({ args }) => text(`Hello, ${String(args['name'])}!`),
};

const SLOW_COMPUTE: ModernTool = {
  tool: {
    name: 'slow_compute',
    description: 'Takes a number of seconds, in a task if the client takes one',
    inputSchema: {
      type: 'object',
      properties: { seconds: { type: 'number' }, label: { type: 'string' } },
      required: ['seconds'],
    },
  },
  run: ({ args, ctx, tasks }) => {
    const seconds = Number(args['seconds']);
    if (!takesTasks(ctx)) return compute(seconds, ctx.mcpReq.signal);
    return tasks.create(({ signal }) => compute(seconds, signal));
  },
};

/** Asks before it makes its task, so the answer comes with a call and not with the task. */
const ASK_THEN_TASK: ModernTool = {
  tool: {
    name: 'test_tool_with_task',
    description: 'Asks for a name, then greets in a task',
    inputSchema: NO_ARGUMENTS,
  },
  run: ({ ctx, tasks }) => {
    requireTasks(ctx);
    const name = readField(ctx, 'user_name', 'name');
    if (typeof name !== 'string') {
      return inputRequired({ inputRequests: { user_name: askField('name') } });
    }
    return tasks.create(async () => text(`Hello, ${name}!`));
  },
};

/** Those tools. */
export const MODERN_TASK_TOOLS: readonly ModernTool[] = [
  GREET,
  SLOW_COMPUTE,
  always('failing_job', failJob),
  always('protocol_error_job', breakJob),
  always(
    'confirm_delete',
    async ({ ask }, args) => {
      const answers = await ask({ confirm: askField('confirm', 'boolean') });
      return text(`${String(args['filename'])}: ${JSON.stringify(answers)}`);
    },
    oneString('filename', 'What would be deleted'),
  ),
  always('multi_input', async ({ ask }) => {
    const answers = await ask({ first: askField('name'), second: askField('name') });
    return text(JSON.stringify(answers));
  }),
  ASK_THEN_TASK,
];
