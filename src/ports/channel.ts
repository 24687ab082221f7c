// The connection to one server. It knows framing, but nothing about ids or methods.
import type { FailureOutcome, FailureReason } from '../base/errors.ts';
import type { Principal } from './principal.ts';

/** Why one request will not be answered, if the transport can tell this for a single request. */
export interface RequestFailure {
  readonly reason: FailureReason;
  readonly outcome: FailureOutcome;
  /** What happened; it follows the server's name: `answered HTTP 503.` */
  readonly what: string;
  /** When it may be tried again, in milliseconds, if the server said so. */
  readonly retryAfterMs?: number;
  /** Whether a retry fails in the same way until the configuration or the server is changed. */
  readonly isLasting?: boolean;
}

/** Called by a channel. */
export interface ChannelEvents {
  /**
   * A message arrived.
   * @param about the id of the request on whose own stream it came, if the transport has such streams
   * @returns whether it was an answer that a caller waited for
   */
  received(message: Buffer, about?: number): boolean;
  /**
   * A message over the limit was dropped. `head` and `tail` are its first and last bytes.
   * @param isForRoom it was dropped because too many bytes are held, not because of its length
   */
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom?: boolean): void;
  /** A request will not be answered. Has no effect if it was already answered. */
  failed(id: number, failure: RequestFailure): void;
  /** Whether a request still waits for its answer. */
  awaits(id: number): boolean;
  /** Something arrived that is not a message. It was dropped. */
  noise(): void;
  /** Calls that had to wait, because the server's input was full, can be sent now. */
  drained(): void;
  /**
   * The server can no longer be reached. Called once.
   * @param notTaken ids of requests that the server certainly did not take
   */
  closed(reason: string, notTaken?: ReadonlySet<number>): void;
}

/** A connection to a server. */
export interface Channel {
  /** False while the server's input is full: no more calls should be sent. */
  readonly isWritable: boolean;
  /**
   * Sends one message. Must not be called after `closed`.
   * @param from the sender; undefined for the gateway itself
   * @returns false if it was dropped because the server's input is over its limit. Never happens for a call
   *   that is sent while the channel is writable
   */
  send(message: Buffer, from?: Principal): boolean;
  /** Ends the connection gracefully. Resolves when nothing of it is left. */
  close(): Promise<void>;
}

/** A channel with information about the server behind it. */
export interface ServerChannel extends Channel {
  /** Process id; undefined if there is no process. */
  readonly pid: number | undefined;
  /** The last useful line of the server's stderr, to explain why it ended; may be empty. */
  readonly lastStderrLine: string;
  /** Identifies the program and its version; absent if it is not known. */
  readonly program?: string;
}
