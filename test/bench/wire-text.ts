// The text that both kinds of clients write and how they judge an answer: by its status, size and ends.
import type { HttpAnswer } from './http-connection.ts';

/** Where requests go to. */
export interface Endpoint {
  readonly port: number;
  readonly path: string;
  /** By which clients are let in: header lines, each with its end. */
  readonly credentials?: string;
}

/**
 * A whole POST.
 * @param headers each with its line end
 */
export function postOf(
  { port, path, credentials = '' }: Endpoint,
  headers: string,
  body: string,
): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${credentials}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Whether a body, JSON or SSE, is the result of that request. Servers put the id first or last. */
export function answersTo(id: number, { head, tail }: Pick<HttpAnswer, 'head' | 'tail'>): boolean {
  const idText = new RegExp(`"id":${id}[,}]`);
  return (idText.test(head) || idText.test(tail)) && !head.includes('"error":{');
}

/** The cursor of the next page, which stands before or after the entries. */
export function nextCursorOf({
  head,
  tail,
}: Pick<HttpAnswer, 'head' | 'tail'>): string | undefined {
  const member = /"nextCursor":"([^"\\]+)"/;
  return (member.exec(tail) ?? member.exec(head))?.[1];
}

/** An answer in the words of a failure. */
export function describe(what: string, answer: HttpAnswer): string {
  return `${what}: ${answer.status} ${answer.contentType}, ${answer.bodyBytes} bytes: ${answer.head.slice(0, 200)}`;
}
