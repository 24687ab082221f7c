/** Writes the messages of one request, on the caller's transport. */
export interface ResponseWriter {
  /**
   * A message that comes before the answer.
   * @param message in parts, if it is large
   * @returns false when the caller can't be given one
   */
  push(...message: readonly Buffer[]): boolean;
  /**
   * Writes the answer. Nothing comes after it.
   * @param code of an error, for transports that have a status for it
   */
  end(message: Buffer, code?: number): void;
  /**
   * Writes the error for a denial, for transports that have a status for it.
   * @param scopes that would be enough; none: more would not help
   */
  forbid?(message: Buffer, scopes: readonly string[]): void;
  /** A large answer in parts, where the transport can send it without joining them first. */
  endInParts?(parts: readonly Buffer[], code?: number): void;
  /** There will be no answer, because the caller cancelled. */
  abandon(): void;
}

/** Writes messages that belong to no request. */
export interface NotificationWriter {
  /** Whether the client can read now. */
  readonly isOpen: boolean;
  /**
   * Sends a message, or keeps it until the client can read.
   * @param kind while messages are kept, a message replaces earlier ones of its kind; undefined: all are kept
   */
  send(message: Buffer, kind: string | undefined): void;
  /** Drops messages for a client that did not return in time. */
  prune(): void;
  /** The session is over. */
  close(): void;
}
