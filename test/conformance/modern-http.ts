/**
 * Owns the modern fixture over Streamable HTTP with the SDK's own handler, no gateway: one server for each
 * request, tasks and listeners shared.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  type McpHttpHandler,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import type { TellChange } from './modern-call.ts';
import { createModernFixture } from './modern-fixture.ts';
import { TaskTable } from './modern-task-table.ts';

const tasks = new TaskTable();
const tellChange: TellChange = (kind) => {
  if (kind === 'tools') handler.notify.toolsChanged();
  else handler.notify.promptsChanged();
};
const handler: McpHttpHandler = createMcpHandler(() => createModernFixture(tasks, tellChange), {
  legacy: 'reject',
});

/** The request as the SDK takes it. */
async function toRequest(req: IncomingMessage, host: string, signal: AbortSignal) {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const body = req.method === 'POST' ? { body: await buffer(req) } : {};
  const method = req.method ?? 'GET';
  return new Request(`http://${host}${req.url ?? '/'}`, { method, headers, signal, ...body });
}

/**
 * Answers one request.
 * @param host the server's own host and port; other names are refused
 */
export async function answerModern(
  req: IncomingMessage,
  res: ServerResponse,
  host: string,
): Promise<void> {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  const request = await toRequest(req, host, gone.signal);
  const names = [new URL(request.url).hostname];
  const response =
    hostHeaderValidationResponse(request, names) ??
    originValidationResponse(request, names) ??
    (await handler.fetch(request));
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    res.end();
    return;
  }
  res.flushHeaders();
  // A client that goes away ends the stream in the middle.
  await pipeline(Readable.fromWeb(response.body as ReadableStream), res).catch(() => undefined);
}
