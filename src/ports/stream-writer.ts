/** An open event stream to a client. */
export interface StreamWriter {
  /** Sends an event, which may be in parts if it is large. A client that does not read is cut off. */
  write(...parts: readonly Buffer[]): void;
  /** Ends the stream in order. */
  end(): void;
}
