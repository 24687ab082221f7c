// A raw duplex of messages to one live server. Knows framing; knows nothing of ids or methods.
import type { FailureOutcome, FailureReason } from '../base/errors.ts';
import type { Principal } from './principal.ts';

/** Why a request will not be answered, where the transport can tell it of one request alone. */
export interface RequestFailure {
  readonly reason: FailureReason;
  readonly outcome: FailureOutcome;
  /** What happened, to follow the server's name: `answered HTTP 503.` */
  readonly what: string;
  /** After how long it may be tried again, where the server said that. */
  readonly retryAfterMs?: number;
  /** Whether it is the same at the next try, until somebody changes the configuration or the server. */
  readonly isLasting?: boolean;
}

/** What a channel tells its owner. */
export interface ChannelEvents {
  /**
   * A message came.
   * @param about the request on whose own stream it came, where the transport has such streams
   * @returns whether it was an answer that was waited for
   */
  received(message: Buffer, about?: number): boolean;
  /**
   * A message over the limit was dropped; `head` and `tail` are its two ends.
   * @param isForRoom it was dropped because too much is held, however long it may be
   */
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom?: boolean): void;
  /** The answer to a request will not come. Nothing happens when it has come already. */
  failed(id: number, failure: RequestFailure): void;
  /** Whether the answer to a request is still awaited. */
  awaits(id: number): boolean;
  /** Something that is no message came; it was dropped. */
  noise(): void;
  /** Calls that were held back, since too much waited for the server, can be sent now. */
  drained(): void;
  /**
   * The server can no longer be reached. Told once.
   * @param notTaken requests that it did not take for sure
   */
  closed(reason: string, notTaken?: ReadonlySet<number>): void;
}

/** A connection to a server. */
export interface Channel {
  /** False while too much waits for the server: no more calls are to be sent. */
  readonly isWritable: boolean;
  /**
   * Sends one message. Must not be called after `closed`.
   * @param from whose it is; undefined where it is the gateway's own
   * @returns false when it was dropped, since far too much waits for the server; never a call that
   * was sent while the channel was writable
   */
  send(message: Buffer, from?: Principal): boolean;
  /** Ends it in order and resolves when nothing of it is left. */
  close(): Promise<void>;
}

/** A channel with what is known of who is behind it. */
export interface ServerChannel extends Channel {
  /** Process id; undefined when there is no process. */
  readonly pid: number | undefined;
  /** What the server last said besides messages, to explain why it ended; may be empty. */
  readonly lastStderrLine: string;
  /** Which version of which program runs; absent where nobody knows. */
  readonly program?: string;
}
