/**
 * A client of the HTTP+SSE transport (2024-11-05): one GET stream down, POSTs to the URI that its first
 * event names up.
 */
import { ChannelClient } from './channel-client.ts';
import { type FullResponse, HttpExchange, send } from './http-client.ts';
import type { SseEvent } from './sse.ts';

export class SseClient extends ChannelClient {
  /** The GET stream. */
  readonly stream: HttpExchange;
  /** The first event of the stream, as it came. */
  readonly endpointEvent: SseEvent;
  /** Where messages are POSTed, resolved against the stream's URL. */
  readonly postUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  #lastPost: Promise<unknown> = Promise.resolve();

  private constructor(
    stream: HttpExchange,
    endpointEvent: SseEvent,
    postUrl: string,
    headers: Readonly<Record<string, string>>,
  ) {
    super('HTTP+SSE stream');
    this.stream = stream;
    this.endpointEvent = endpointEvent;
    this.postUrl = postUrl;
    this.#headers = headers;
    void this.#pump();
  }

  /** Opens the stream and waits for its `endpoint` event, which must be the first. */
  static async open(
    url: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<SseClient> {
    const stream = new HttpExchange(url, { headers: { accept: 'text/event-stream', ...headers } });
    const event = await stream.events.next();
    if (event.event !== 'endpoint' || !event.data) {
      stream.destroy();
      throw new Error(`first event is not an endpoint: ${JSON.stringify(event)}`);
    }
    return new SseClient(stream, event, new URL(event.data, url).href, headers);
  }

  /** POSTs one text and waits for the HTTP answer, which is 202 when all is well. */
  postText(text: string): Promise<FullResponse> {
    return send(this.postUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#headers },
      body: text,
    });
  }

  /** POSTs in order: a second one starts when the first has its 202. */
  sendText(text: string): void {
    this.#lastPost = this.#lastPost.then(() => this.postText(text));
    this.#lastPost.catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#lastPost.catch(() => undefined);
    this.stream.destroy();
    await this.stream.events.ended;
  }

  async #pump(): Promise<void> {
    for (;;) {
      try {
        this.messages.push(await this.stream.messages.next(undefined, 2 ** 31 - 1));
      } catch {
        this.messages.end();
        return;
      }
    }
  }
}
