/**
 * The client side of a transport that is one channel for everything (WebSocket, HTTP+SSE, a process's
 * stdio): ids, waiting for answers, and the usual calls. A subclass says how text goes out and feeds
 * what comes in to `messages`.
 */
import { AsyncQueue } from './async-queue.ts';
import { initializeRequest, type SessionOptions } from './legacy-session.ts';
import { answers, type Json, type MessageId, type WireMessage } from './wire-message.ts';

export abstract class ChannelClient {
  /** Everything that came in. */
  readonly messages: AsyncQueue<WireMessage>;
  #nextId = 1;

  protected constructor(name: string) {
    this.messages = new AsyncQueue(name);
  }

  /** Sends one text as it is. */
  abstract sendText(text: string): void;

  /** Ends the channel and waits until it is gone. */
  abstract close(): Promise<void>;

  send(message: unknown): void {
    this.sendText(JSON.stringify(message));
  }

  /** Sends a request. @returns the id and the answer to come. */
  begin(
    method: string,
    params?: Json,
    id: MessageId = this.#nextId++,
  ): { readonly id: MessageId; readonly answer: Promise<WireMessage> } {
    const answer = this.messages.next(answers(id), 30_000);
    // A test that closes the channel never looks at its answers.
    answer.catch(() => undefined);
    this.send({ jsonrpc: '2.0', id, method, params });
    return { id, answer };
  }

  request(method: string, params?: Json, id?: MessageId): Promise<WireMessage> {
    return this.begin(method, params, id).answer;
  }

  call(name: string, args: Json = {}, id?: MessageId): Promise<WireMessage> {
    return this.request('tools/call', { name, arguments: args }, id);
  }

  notify(method: string, params?: Json): void {
    this.send({ jsonrpc: '2.0', method, params });
  }

  respond(id: MessageId | undefined, result: Json): void {
    this.send({ jsonrpc: '2.0', id, result });
  }

  /** `initialize` and `notifications/initialized`. @returns the answer to the first. */
  async initialize(options: SessionOptions = {}): Promise<WireMessage> {
    const answer = this.messages.next(answers(0));
    this.send(initializeRequest(options));
    const message = await answer;
    if (options.initialized !== false) this.notify('notifications/initialized');
    return message;
  }
}
