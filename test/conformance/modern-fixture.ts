/**
 * Owns the wiring of the modern fixture: one SDK 2.x server with every tool, prompt, resource, skill and
 * task that the conformance suite asks for at 2026-07-28. It knows no transport. Tools and prompts use the
 * SDK's low-level handlers, so that schemas go out as written.
 */

import {
  type CallToolResult,
  type InputRequiredResult,
  type JSONRPCMessage,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceTemplate,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';
import { type ModernTool, readClient, type TellChange } from './modern-call.ts';
import { MODERN_INPUT_TOOLS, promptThatAsks, STATES } from './modern-input-tools.ts';
import { SKILLS } from './modern-skills.ts';
import { TASKS_EXTENSION, type TaskTable } from './modern-task-table.ts';
import { MODERN_TASK_TOOLS } from './modern-task-tools.ts';
import { MODERN_TOOLS } from './modern-tools.ts';
import { ASKING_PROMPT, completePrompt, PROMPTS } from './prompts.ts';
import { RESOURCES, readResource, TEMPLATES } from './resources.ts';

const ALL_TOOLS: ReadonlyMap<string, ModernTool> = new Map(
  [...MODERN_TOOLS, ...MODERN_INPUT_TOOLS, ...MODERN_TASK_TOOLS].map((one) => [one.tool.name, one]),
);

/** The SDK gives every result of a tool a content, and a created task has none. */
function withoutContent(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message) || message.result['resultType'] !== 'task') return message;
  const { content: _, ...result } = message.result;
  return { ...message, result };
}

/** The SDK's server, but for a result that it does not know and for tools that it does not list. */
class FixtureServer extends McpServer {
  /** The SDK's HTTP handler checks `Mcp-Param-*` with it. */
  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return ALL_TOOLS.get(name)?.tool.inputSchema;
  }

  override async connect(transport: Transport): Promise<void> {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => send(withoutContent(message), options);
    await super.connect(transport);
  }
}

function addTools(server: Server, tasks: TaskTable, tellChange: TellChange): void {
  server.setRequestHandler('tools/list', () => ({
    tools: [...ALL_TOOLS.values()].map(({ tool }) => tool),
  }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const entry = ALL_TOOLS.get(params.name);
    if (entry === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    }
    const client = readClient(ctx);
    const result = await entry.run({
      args: params.arguments ?? {},
      ctx,
      client,
      tasks,
      tellChange,
    });
    // The SDK carries a created task, but has no type for it.
    return result as CallToolResult | InputRequiredResult;
  });
}

function addPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: [...[...PROMPTS.values()].map(({ prompt }) => prompt), ASKING_PROMPT],
  }));
  server.setRequestHandler('prompts/get', ({ params }, ctx) => {
    if (params.name === ASKING_PROMPT.name) return promptThatAsks(ctx);
    const entry = PROMPTS.get(params.name);
    if (entry === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name}`);
    }
    return entry.get(params.arguments ?? {});
  });
  server.setRequestHandler('completion/complete', ({ params }) => {
    const { ref, argument } = params;
    const values = ref.type === 'ref/prompt' ? completePrompt(ref.name, argument.value) : [];
    return { completion: { values, total: values.length, hasMore: false } };
  });
}

/** Reads what is listed, or what a template makes. */
function read(uri: URL) {
  const contents = readResource(uri.href);
  return { contents: contents === undefined ? [] : [contents] };
}

/** The SDK's own handlers: they also serve the files of the skills. */
function addResources(mcp: McpServer): void {
  for (const { uri, name, ...listed } of RESOURCES) mcp.registerResource(name, uri, listed, read);
  for (const { uriTemplate, name, ...listed } of TEMPLATES) {
    const template = new ResourceTemplate(uriTemplate, { list: undefined });
    mcp.registerResource(name, template, listed, read);
  }
  SKILLS.attach(mcp);
}

/**
 * Makes a fixture server that is not connected yet.
 * @param tasks the tasks of the process
 * @param tellChange how listeners hear of changed lists; by default on the server's own connection
 * @returns a server for one connection, or for one request over HTTP
 */
export function createModernFixture(tasks: TaskTable, tellChange?: TellChange): McpServer {
  const mcp = new FixtureServer(
    { name: 'sluice-conformance-modern', version: '1.0.0' },
    {
      capabilities: {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        tools: { listChanged: true },
        extensions: { [TASKS_EXTENSION]: {} },
      },
      requestState: { verify: STATES.verify },
    },
  );
  const tellHere: TellChange = (kind) =>
    mcp.server.notification({ method: `notifications/${kind}/list_changed` });
  addResources(mcp);
  addTools(mcp.server, tasks, tellChange ?? tellHere);
  addPrompts(mcp.server);
  tasks.serve(mcp.server);
  return mcp;
}
