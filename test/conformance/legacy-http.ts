/**
 * Owns the legacy fixture over Streamable HTTP with the SDK's own transport, no gateway: one server for
 * each session, events kept for `Last-Event-ID`.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type EventId,
  type EventStore,
  StreamableHTTPServerTransport,
  type StreamId,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { createLegacyFixture } from './legacy-fixture.ts';

/** The events of one session, for `Last-Event-ID`. Lives as long as its session. */
class SessionEvents implements EventStore {
  readonly #events: { streamId: StreamId; message: JSONRPCMessage }[] = [];

  async storeEvent(streamId: StreamId, message: JSONRPCMessage): Promise<EventId> {
    this.#events.push({ streamId, message });
    return String(this.#events.length - 1);
  }

  async getStreamIdForEventId(eventId: EventId): Promise<StreamId | undefined> {
    return this.#events[Number(eventId)]?.streamId;
  }

  async replayEventsAfter(
    lastEventId: EventId,
    { send }: { send: (eventId: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId> {
    const start = Number(lastEventId);
    const streamId = this.#events[start]?.streamId;
    if (streamId === undefined) throw new Error(`Unknown event: ${lastEventId}`);
    for (const [index, event] of this.#events.entries()) {
      // A priming event is stored as an empty message; replaying it would send `{}`.
      if (index <= start || event.streamId !== streamId || !('jsonrpc' in event.message)) continue;
      await send(String(index), event.message);
    }
    return streamId;
  }
}

const sessions = new Map<string, StreamableHTTPServerTransport>();

/** A transport for a session that does not exist yet; it refuses what is not `initialize`. */
async function openSession(host: string): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new SessionEvents(),
    retryInterval: 100,
    enableDnsRebindingProtection: true,
    allowedHosts: [host],
    allowedOrigins: [`http://${host}`],
    onsessioninitialized: (id) => {
      sessions.set(id, transport);
    },
    onsessionclosed: (id) => {
      sessions.delete(id);
    },
  });
  // The SDK's own class does not satisfy its own interface under exactOptionalPropertyTypes.
  await createLegacyFixture().connect(transport as Transport);
  return transport;
}

/**
 * Answers one request.
 * @param host the server's own host and port; others are refused
 */
export async function answerLegacy(
  req: IncomingMessage,
  res: ServerResponse,
  host: string,
): Promise<void> {
  const id = req.headers['mcp-session-id'];
  if (id === undefined || Array.isArray(id)) {
    const transport = await openSession(host);
    await transport.handleRequest(req, res);
    if (transport.sessionId === undefined) await transport.close();
    return;
  }
  const transport = sessions.get(id);
  if (transport === undefined) {
    const error = { code: -32001, message: 'Session not found' };
    res.writeHead(404, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
    return;
  }
  await transport.handleRequest(req, res);
}
