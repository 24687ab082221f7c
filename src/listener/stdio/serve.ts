// A client on stdin and stdout of this process: one message for each line, and nothing else on stdout
// (2026-07-28 basic/transports/stdio). After the end of its input the client still gets answers.
import type { Readable, Writable } from 'node:stream';
import { LineFraming } from '../../jsonrpc/line-framing.ts';
import { errorMessage } from '../../jsonrpc/serialize.ts';
import { ERRORS } from '../../mcp/errors.ts';
import type { ChannelTransport, MessageChannel } from '../../session/message-channel.ts';

/** How many bytes may wait for a client that does not read, before the connection is given up. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const LINE_FEED = Buffer.from('\n');
const TOO_LARGE = errorMessage(undefined, ERRORS.tooLarge);

/** A pair of streams as a transport for messages. */
export class StdioConnection implements ChannelTransport {
  readonly #input: Readable;
  readonly #output: Writable;
  /** Resolves when no more messages will come. */
  readonly #silent = Promise.withResolvers<void>();
  #isEnded = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  /** Whether nothing can be sent any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /**
   * Passes incoming messages to the channel.
   * @param maxBytes limit for one message
   * @returns resolves when no more messages will come; answers can be sent until `end`
   */
  async serve(channel: MessageChannel, maxBytes: number): Promise<void> {
    const framing = new LineFraming(maxBytes, {
      line: (bytes) => channel.receive(bytes),
      oversize: () => this.send(TOO_LARGE),
    });
    this.#input.on('data', (chunk: Buffer) => framing.push(chunk));
    for (const event of ['end', 'close', 'error']) {
      this.#input.once(event, () => this.#silent.resolve());
    }
    this.#output.on('error', () => this.end());
    await this.#silent.promise;
  }

  send(message: Buffer): void {
    if (this.#isEnded) return;
    this.#output.write(Buffer.concat([message, LINE_FEED]));
    if (this.#output.writableLength > MAX_WAITING_BYTES) this.end();
  }

  hold(isHeld: boolean): void {
    if (isHeld) this.#input.pause();
    else if (!this.#isEnded) this.#input.resume();
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#input.pause();
    this.#silent.resolve();
  }
}
