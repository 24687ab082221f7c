// What flows between the gateway and one server, counted in plain numbers since it happens for
// every message; metrics.ts reads them at each scrape.

/** Counts of one server, over all its instances and their lives. */
export class Traffic {
  /** Requests and notifications written to the server, and answers to its server requests. */
  sentMessages = 0;
  sentBytes = 0;
  responses = 0;
  notifications = 0;
  serverRequests = 0;
  /** Lines that are no JSON-RPC message. */
  noise = 0;
  receivedBytes = 0;
  /** Answers to calls that nobody waits for any more, or never did. */
  unmatched = 0;
}
