// Server requests that a modern client gets in a result, each under a key. The client answers them under the
// same keys with its next request (2026-07-28 basic/patterns/mrtr).
import { membersOf } from '../jsonrpc/members.ts';
import { parseSpan } from '../jsonrpc/parse.ts';
import { replyForNobody, type ServerRequest } from '../ports/downstream.ts';
import { isWellFormed, keyLetter } from './input-requests.ts';

/** The open server requests. A key is never used twice. */
export class KeyedServerRequests {
  readonly #open = new Map<string, ServerRequest>();
  #lastKey = 0;

  get size(): number {
    return this.#open.size;
  }

  /** The bytes of all of them. */
  get bytes(): number {
    let sum = 0;
    for (const { frame } of this.#open.values()) sum += frame.bytes.length;
    return sum;
  }

  /** By key. */
  get all(): ReadonlyMap<string, ServerRequest> {
    return this.#open;
  }

  /** @returns false if a modern client can't be sent this request */
  add(serverRequest: ServerRequest): boolean {
    const letter = keyLetter(serverRequest.frame.method);
    if (letter === undefined) return false;
    this.#open.set(`${letter}${++this.#lastKey}`, serverRequest);
    return true;
  }

  withdraw(serverRequest: ServerRequest): void {
    for (const [key, open] of this.#open) if (open === serverRequest) this.#open.delete(key);
  }

  /**
   * Takes a client's answers. Answers with unknown keys are ignored.
   * @param responses an object with answers by key, as JSON text
   */
  answer(responses: Buffer): void {
    for (const { key, valueStart, valueEnd } of membersOf(responses, 0, responses.length)) {
      const serverRequest = this.#open.get(key);
      const value = responses.subarray(valueStart, valueEnd);
      if (serverRequest === undefined) continue;
      if (!isWellFormed(serverRequest.frame.method, parseSpan(value, 0, value.length))) continue;
      this.#open.delete(key);
      serverRequest.settle(value);
    }
  }

  /** Drops all. */
  clear(): void {
    this.#open.clear();
  }

  /** Answers all of them for a client that will not. */
  answerForNobody(): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const serverRequest of open) serverRequest.settle(replyForNobody(serverRequest));
  }
}
