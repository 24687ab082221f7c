// A raw duplex of messages to one live server. Knows framing; knows nothing of ids or methods.

/** What a channel tells its owner. */
export interface ChannelEvents {
  received(message: Buffer): void;
  /** A message over the limit was dropped; `head` and `tail` are its two ends. */
  oversize(head: Buffer, tail: Buffer, length: number): void;
  /** Something that is no message came; it was dropped. */
  noise(): void;
  /** What was held back by a full buffer can be sent now. */
  drained(): void;
  /** The server can no longer be reached. Told once. */
  closed(reason: string): void;
}

/** A connection to a server. */
export interface Channel {
  /** False while the server's input buffer is full; what is sent all the same is kept. */
  readonly isWritable: boolean;
  /** Sends one message. Must not be called after `closed`. */
  send(message: Buffer): void;
  /** Ends it in order and resolves when nothing of it is left. */
  close(): Promise<void>;
}
