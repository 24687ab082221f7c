// A remote server whose transport is not configured: Streamable HTTP is tried first, and HTTP+SSE if the
// server does not accept POST at its URL (docs/protocol.md#httpsse).
import type { ServerChannel } from '../ports/channel.ts';
import type { Principal } from '../ports/principal.ts';
import type { RemoteTarget } from './credentials/options.ts';
import { SseChannel } from './http-sse/sse-channel.ts';
import type { RemoteOptions, RemoteParts } from './remote/http-endpoint.ts';
import type { HttpRefusal } from './remote/refusals.ts';
import { HttpChannel } from './streamable-http/http-channel.ts';

/** One remote server. */
export class RemoteChannel implements ServerChannel {
  readonly pid = undefined;
  readonly #target: RemoteTarget;
  readonly #options: RemoteOptions;
  readonly #parts: RemoteParts;
  #channel: ServerChannel;
  /** The channel of the wrong transport, while it is being closed. */
  #left: Promise<void> = Promise.resolve();

  constructor(target: RemoteTarget, options: RemoteOptions, parts: RemoteParts) {
    this.#target = target;
    this.#options = options;
    this.#parts = parts;
    const isSse = target.transport === 'sse';
    this.#channel = isSse ? new SseChannel(target, options, parts) : this.#streamableHttp();
  }

  get lastStderrLine(): string {
    return this.#channel.lastStderrLine;
  }

  get isWritable(): boolean {
    return this.#channel.isWritable;
  }

  send(message: Buffer, from?: Principal): boolean {
    return this.#channel.send(message, from);
  }

  async close(): Promise<void> {
    await Promise.all([this.#left, this.#channel.close()]);
  }

  #streamableHttp(): ServerChannel {
    const isAuto = this.#target.transport === 'auto';
    return new HttpChannel(this.#target, this.#options, {
      ...this.#parts,
      notSpoken: isAuto ? (initialize, refusal) => this.#fallBack(initialize, refusal) : undefined,
    });
  }

  #fallBack(initialize: Buffer, postRefused: HttpRefusal): void {
    this.#parts.logger.info('server does not accept POST at its URL: trying HTTP+SSE');
    this.#left = this.#channel.close();
    this.#channel = new SseChannel(this.#target, this.#options, { ...this.#parts, postRefused });
    this.#channel.send(initialize);
  }
}
