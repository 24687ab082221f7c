// What all transports of the public listener share.
import type { Drain } from '../base/drain.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { scan } from '../jsonrpc/scan.ts';
import type { Logger } from '../observe/logger.ts';
import type { MessageLog } from '../observe/message-log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ModernRequests } from '../session/modern-requests.ts';
import type { ServedEndpoint } from '../session/served-endpoint.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { Gatekeeper } from './gatekeeper.ts';
import type { MemoryPressure } from './memory-pressure.ts';
import type { OpenStreams } from './open-streams.ts';
import type { ListenOptions } from './options.ts';
import type { RequestBodies } from './request-body.ts';
import type { StreamTimers } from './stream-timers.ts';

/** Shared by all transports. */
export interface ListenerContext {
  readonly options: ListenOptions;
  readonly sessions: SessionStore;
  /** Modern requests in flight. */
  readonly modern: ModernRequests;
  readonly streamTimers: StreamTimers;
  /** The log of clients' messages; undefined if it is off. */
  readonly messages: MessageLog | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly gatekeeper: Gatekeeper;
  readonly openStreams: OpenStreams;
  readonly memoryPressure: MemoryPressure;
  readonly bodies: RequestBodies;
  /** Counts the bytes that are held for clients. */
  readonly held: HeldBytes;
  /** While it is on, only messages that continue a call are accepted. */
  readonly drain: Drain;
}

/** Logs a client's message, if that is configured. */
export function noteMessage(context: ListenerContext, served: ServedEndpoint, bytes: Buffer): void {
  if (context.messages === undefined) return;
  const { kind, method, idBytes } = scan(bytes, { anyParams: true });
  const id = idBytes?.toString('utf8');
  context.messages.log(
    { direction: 'from_client', kind, method: method || undefined, id, bytes },
    { endpoint: served.endpoint.name },
  );
}
