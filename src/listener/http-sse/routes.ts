// HTTP+SSE of 2024-11-05: a GET opens the stream and the session, POSTs carry the client's messages, and all
// answers come on the stream (docs/protocol.md#httpsse).
import { randomBytes } from 'node:crypto';
import { faultError } from '../../jsonrpc/faults.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { endpointEvent, messageEvent } from '../../jsonrpc/sse-framing.ts';
import { MessageChannel } from '../../session/message-channel.ts';
import type { ServedEndpoint } from '../../session/served-endpoint.ts';
import type { ListenerContext } from '../context.ts';
import { drainRefusal, REFUSALS, refuse, sendEmpty, streamRefusal } from '../error-response.ts';
import { acceptedBy } from '../request-headers.ts';
import { SseWriter } from '../sse-writer.ts';
import { type HttpCall, headerOf } from '../streamable-http/routes.ts';

const TRANSPORT = 'sse';

interface SseStream {
  readonly channel: MessageChannel;
  readonly served: ServedEndpoint;
}

/** The open HTTP+SSE streams, by the secret id in the URL of their POSTs. */
export class SseStreams {
  readonly #context: ListenerContext;
  readonly #streams = new Map<string, SseStream>();

  constructor(context: ListenerContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#streams.size;
  }

  /**
   * GET: opens a stream.
   * @param messagesPath where the client must POST, as the client sees the path
   */
  open(served: ServedEndpoint, call: HttpCall, messagesPath: string): void {
    if (!acceptedBy(headerOf(call.request, 'accept')).events) {
      refuse(call.response, REFUSALS.acceptStream);
      return;
    }
    const { streamTimers, metrics, sessions, modern, openStreams } = this.#context;
    const reason = this.#streams.size >= MAX_STREAMS ? 'all' : openStreams.refusal(call.principal);
    if (served.drain.isOn || reason !== undefined) {
      refuse(call.response, reason === undefined ? drainRefusal(served) : streamRefusal(reason));
      return;
    }
    const id = randomBytes(32).toString('base64url');
    const writer = new SseWriter(
      call.response,
      {},
      {
        closed: (closed) => {
          streamTimers.closed(closed);
          this.#streams.delete(id);
          channel.close();
        },
        held: this.#context.held,
        principal: call.principal,
        slow: () => metrics.slowConsumers.inc({ transport: TRANSPORT }),
      },
    );
    const channel: MessageChannel = new MessageChannel({
      transportName: TRANSPORT,
      transport: {
        send: (message) => writer.write(...messageEvent(message)),
        end: () => writer.end(),
      },
      served,
      principal: call.principal,
      sessions,
      modern,
      tookBatch: (messages) => this.#context.gatekeeper.takeBatch(call.principal, messages),
    });
    this.#streams.set(id, { channel, served });
    streamTimers.opened(writer, TRANSPORT, call.principal);
    writer.write(endpointEvent(`${this.#prefixFor(call)}${messagesPath}?sessionId=${id}`));
  }

  /** POST: one message of a client. */
  post(served: ServedEndpoint, call: HttpCall, body: Buffer): void {
    const id = new URL(call.request.url ?? '/', 'http://unused').searchParams.get('sessionId');
    if (id === null || id === '') {
      refuse(call.response, REFUSALS.noSession);
      return;
    }
    const stream = this.#streams.get(id);
    const isHere = stream?.served.name === served.name;
    if (stream === undefined || !isHere || !stream.channel.continueAs(call.principal)) {
      refuse(call.response, REFUSALS.sessionNotFound);
      return;
    }
    const frame = scan(body);
    if (frame.fault !== undefined && frame.fault !== 'array') {
      refuse(call.response, { status: 400, ...faultError(frame) }, frame.idBytes);
      return;
    }
    const accept = (): void => sendEmpty(call.response, 202);
    // A batch may take several turns. The client's next message must not be processed before the rest of the
    // batch.
    if (frame.fault === undefined) accept();
    const isDone = stream.channel.receive(body, call.quota, accept);
    if (isDone && frame.fault === 'array') accept();
  }

  #prefixFor(call: HttpCall): string {
    const { gatekeeper, options } = this.#context;
    return gatekeeper.proxies.prefixOf(call.request) ?? pathPrefix(options.publicUrl);
  }

  /** Ends the streams of an endpoint. */
  endOf(served: ServedEndpoint): void {
    for (const stream of [...this.#streams.values()]) {
      if (stream.served === served) stream.channel.close();
    }
  }

  /** Ends all streams. */
  close(): void {
    for (const { channel } of [...this.#streams.values()]) channel.close();
  }
}

const MAX_STREAMS = 10_000;

/** The path prefix of the public URL, without the last slash. */
function pathPrefix(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
}
