/**
 * Owns the wiring of the legacy fixture: one SDK 1.x server with every tool, prompt and resource
 * that the conformance suite asks for at 2025-06-18 and 2025-11-25. It knows no transport.
 * The SDK's low-level server is used, so that schemas go out as written.
 */

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  type LoggingLevel,
  LoggingLevelSchema,
  McpError,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { INPUT_TOOLS, promptWithInput } from './legacy-input-tools.ts';
import { TOOLS } from './legacy-tools.ts';
import { ASKING_PROMPT, completePrompt, PROMPTS } from './prompts.ts';
import { RESOURCES, readResource, TEMPLATES } from './resources.ts';

const ALL_TOOLS = new Map([...TOOLS, ...INPUT_TOOLS.map((one) => [one.tool.name, one] as const)]);

/** The code that revisions before 2026-07-28 use for an unknown resource. */
const RESOURCE_NOT_FOUND = -32002;

/** From the least to the most severe, as the SDK lists them. */
const LEVELS: readonly LoggingLevel[] = LoggingLevelSchema.options;

function addTools(server: Server): void {
  // A client that never set a level gets every log: the revisions leave that to the server.
  let level: LoggingLevel = 'debug';
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    level = params.level;
    return {};
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...ALL_TOOLS.values()].map(({ tool }) => tool),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const entry = ALL_TOOLS.get(params.name);
    if (entry === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    }
    return entry.run({
      args: params.arguments ?? {},
      extra,
      client: server.getClientCapabilities() ?? {},
      log: async (data) => {
        if (LEVELS.indexOf('info') < LEVELS.indexOf(level)) return;
        await extra.sendNotification({
          method: 'notifications/message',
          params: { level: 'info', logger: 'conformance', data },
        });
      },
    });
  });
}

function addPrompts(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: [...[...PROMPTS.values()].map(({ prompt }) => prompt), ASKING_PROMPT],
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }, extra) => {
    if (params.name === ASKING_PROMPT.name) return promptWithInput(extra);
    const entry = PROMPTS.get(params.name);
    if (entry === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `Unknown prompt: ${params.name}`);
    }
    return entry.get(params.arguments ?? {});
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => {
    const { ref, argument } = params;
    const values = ref.type === 'ref/prompt' ? completePrompt(ref.name, argument.value) : [];
    return { completion: { values, total: values.length, hasMore: false } };
  });
}

function addResources(server: Server): void {
  const subscribed = new Set<string>();
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [...RESOURCES] }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [...TEMPLATES],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
    const contents = readResource(params.uri);
    if (contents === undefined) {
      throw new McpError(RESOURCE_NOT_FOUND, 'Resource not found', { uri: params.uri });
    }
    return { contents: [contents] };
  });
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
}

/**
 * Makes a fixture server that is not connected yet.
 * @returns a server for one connection; over HTTP each session needs its own
 */
export function createLegacyFixture(): Server {
  const server = new Server(
    { name: 'sluice-conformance-legacy', version: '1.0.0' },
    {
      capabilities: {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { subscribe: true },
        tools: { listChanged: true },
      },
    },
  );
  addTools(server);
  addPrompts(server);
  addResources(server);
  return server;
}
