// Messages between the gateway and one server, counted in plain numbers because every message passes here.
// metrics.ts reads them at each scrape.

/** Counts of one server, over all its instances and restarts. */
export class Traffic {
  /** Requests and notifications to the server, and responses to its requests. */
  sentMessages = 0;
  sentBytes = 0;
  responses = 0;
  notifications = 0;
  serverRequests = 0;
  /** Lines that are not JSON-RPC messages. */
  noise = 0;
  receivedBytes = 0;
  /** Answers to calls that nobody waits for. */
  unmatched = 0;
}
