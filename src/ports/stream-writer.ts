/** An open event stream to a client. */
export interface StreamWriter {
  /** Sends bytes. A client that does not read is cut off. */
  write(bytes: Buffer): void;
  /** Ends the stream in order. */
  end(): void;
}
