// Server requests that a modern client sees in answers, each under a key, and answers under that
// key with its next request (2026-07-28 basic/patterns/mrtr).
import { membersOf } from '../jsonrpc/members.ts';
import { parseSpan } from '../jsonrpc/parse.ts';
import { replyForNobody, type ServerRequest } from '../ports/downstream.ts';
import { isWellFormed, keyLetter } from './input-requests.ts';

/** What is asked and not answered. A key never stands for two server requests. */
export class KeyedServerRequests {
  readonly #open = new Map<string, ServerRequest>();
  #lastKey = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Of all of them. */
  get bytes(): number {
    let sum = 0;
    for (const { frame } of this.#open.values()) sum += frame.bytes.length;
    return sum;
  }

  /** By key. */
  get all(): ReadonlyMap<string, ServerRequest> {
    return this.#open;
  }

  /** @returns false when there is no way to show it */
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
   * Takes a client's answers; those to nothing that is asked are ignored.
   * @param responses an object of answers by key, as JSON text
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

  /** Forgets all. */
  clear(): void {
    this.#open.clear();
  }

  /** Answers all for a client that will not. */
  answerForNobody(): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const serverRequest of open) serverRequest.settle(replyForNobody(serverRequest));
  }
}
