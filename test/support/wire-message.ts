/**
 * A JSON-RPC message as a test sees it: parsed for looking at, with the text it was read from for checks
 * of fidelity. It validates nothing.
 */
export type MessageId = string | number | null;
export type Json = Record<string, unknown>;

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

export interface WireMessage {
  /** The exact text that came over the wire. */
  readonly raw: string;
  readonly jsonrpc?: unknown;
  readonly id?: MessageId;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: WireError;
}

/** Parses one message. @throws SyntaxError when `raw` is not JSON. */
export function parseMessage(raw: string): WireMessage {
  return { ...(JSON.parse(raw) as Omit<WireMessage, 'raw'>), raw };
}

/** Parses one message or the elements of a batch; an element's `raw` is then its re-serialised text. */
export function parseMessages(raw: string): WireMessage[] {
  const value: unknown = JSON.parse(raw);
  if (!Array.isArray(value)) return [parseMessage(raw)];
  return value.map((item) => parseMessage(JSON.stringify(item)));
}

/** Whether the message answers a request with exactly this id: `1` and `"1"` differ. */
export function answers(id: MessageId): (message: WireMessage) => boolean {
  return (message) => message.method === undefined && message.id === id;
}

/** Whether the message is a request or notification with this method. */
export function hasMethod(method: string): (message: WireMessage) => boolean {
  return (message) => message.method === method;
}

/** The text of a tool result's first content item. @throws Error with the whole message otherwise. */
export function textOf(message: WireMessage): string {
  const content = message.result?.['content'];
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text = (first as { text?: unknown } | undefined)?.text;
  if (typeof text !== 'string') throw new Error(`no text result: ${message.raw}`);
  return text;
}
