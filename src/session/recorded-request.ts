// Requests that set the log level or change subscriptions. They are recorded when the server has accepted
// them, so that the next process can repeat them.
import { Frame } from '../jsonrpc/frame.ts';
import { parseString } from '../jsonrpc/parse.ts';
import { levelOf, severityOf } from '../mcp/log-levels.ts';
import { SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import { ForwardedRequest } from '../ports/forwarded-request.ts';
import type { Outcome, Request } from '../ports/request.ts';
import type { RecordedSession, SessionRecord } from './session-record.ts';

/** A request that is recorded when it succeeds. */
class RecordedRequest extends ForwardedRequest {
  readonly #note: () => void;

  constructor(original: Request, note: () => void) {
    super(original);
    this.#note = note;
  }

  override settle(outcome: Outcome): void {
    if (Buffer.isBuffer(outcome) || (outcome instanceof Frame && outcome.resultStart >= 0)) {
      this.#note();
    }
    super.settle(outcome);
  }
}

/** Wraps a request that must be recorded; returns every other request as it is. */
export function recorded(
  request: Request,
  session: RecordedSession,
  record: SessionRecord,
): Request {
  const { bytes, method, uriStart, uriEnd, levelStart, levelEnd } = request.frame;
  if (method === SET_LEVEL) {
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    if (severity === undefined) return request;
    return new RecordedRequest(request, () => record.setLevel(session, levelOf(severity)));
  }
  if (method !== SUBSCRIBE && method !== UNSUBSCRIBE) return request;
  const uri = parseString(bytes, uriStart, uriEnd);
  if (uri === undefined) return request;
  return new RecordedRequest(request, () => {
    if (method === SUBSCRIBE) record.watch(session, uri);
    else record.unwatch(session, uri);
  });
}
