/** Where the messages of one request go, on whatever transport its caller has. */
export interface ResponseWriter {
  /**
   * A message that comes before the answer.
   * @param message in parts, if it is large
   * @returns false when the caller can't be given one
   */
  push(...message: readonly Buffer[]): boolean;
  /**
   * The answer; nothing comes after it.
   * @param code of an error, where a transport has a status for it
   */
  end(message: Buffer, code?: number): void;
  /**
   * The error for what the rules deny, where the transport has a way to say so besides.
   * @param scopes that would do; none: more would not help
   */
  forbid?(message: Buffer, scopes: readonly string[]): void;
  /** A large answer in parts, where the transport can send it without joining them first. */
  endInParts?(parts: readonly Buffer[], code?: number): void;
  /** There will be no answer: the caller cancelled. */
  abandon(): void;
}

/** Where messages go that belong to no request. */
export interface NotificationWriter {
  /** Whether the client reads now. */
  readonly isOpen: boolean;
  /**
   * Sends, or keeps until the client reads.
   * @param kind messages of equal kind replace each other while they are kept
   */
  send(message: Buffer, kind: string | undefined): void;
  /** Lets go of what was kept for a client that did not come back in time. */
  prune(): void;
  /** The session is over. */
  close(): void;
}
