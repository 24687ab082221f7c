/** An open event stream to a client. */
export interface StreamWriter {
  /** Sends an event, in parts if it is large. A client that does not read is disconnected. */
  write(...parts: readonly Buffer[]): void;
  /** Ends the stream gracefully. */
  end(): void;
}
