// A legacy server that refuses a call until its user has opened some URLs (-32042). They become server
// requests for a modern client. If all are accepted, the call can be sent again
// (docs/protocol.md#url-elicitation).
import type { Frame } from '../jsonrpc/frame.ts';
import { editObject } from '../jsonrpc/members.ts';
import { isObject, parseSpan } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { ELICITATION } from '../mcp/methods.ts';
import { requiredElicitations } from '../mcp/url-elicitation.ts';
import { type Reply, resultOf, type ServerRequest } from '../ports/downstream.ts';

const MODE = new Map([['mode', Buffer.from('"url"')]]);

/** The URLs of one refusal. */
export class UrlElicitations {
  readonly serverRequests: readonly ServerRequest[];
  readonly #done: (isAgreed: boolean) => void;
  #open: number;

  /**
   * @param frames one server request for each URL
   * @param done called once: when all were accepted, or when one was not
   */
  constructor(frames: readonly Frame[], done: (isAgreed: boolean) => void) {
    this.serverRequests = frames.map(
      (frame) => new UrlElicitation(frame, (isAgreed) => this.#take(isAgreed)),
    );
    this.#open = frames.length;
    this.#done = done;
  }

  #take(isAgreed: boolean): void {
    if (this.#open <= 0) return;
    this.#open = isAgreed ? this.#open - 1 : 0;
    if (this.#open === 0) this.#done(isAgreed);
  }
}

class UrlElicitation implements ServerRequest {
  readonly frame: Frame;
  readonly #take: (isAgreed: boolean) => void;

  constructor(frame: Frame, take: (isAgreed: boolean) => void) {
    this.frame = frame;
    this.#take = take;
  }

  settle(reply: Reply): void {
    const result = resultOf(reply);
    const said = result && parseSpan(result, 0, result.length);
    this.#take(isObject(said) && said['action'] === 'accept');
  }

  progress(): void {
    // The server sent an error, not a request, so there is nothing to report progress on.
  }
}

/**
 * The URLs in an answer, as requests.
 * @returns none if it is another answer, or has none
 */
export function requiredUrlElicitations(answer: Frame): Frame[] {
  return requiredElicitations(answer).map(urlElicitationOf);
}

function urlElicitationOf(entry: Buffer): Frame {
  const params = editObject(entry, 0, entry.length, { set: MODE });
  const head = Buffer.from(`{"jsonrpc":"2.0","id":0,"method":"${ELICITATION}","params":`);
  return scan(Buffer.concat([head, params, Buffer.from('}')]));
}
