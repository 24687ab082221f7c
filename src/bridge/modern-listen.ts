// `subscriptions/listen` of a modern client, whatever the server: one stream that carries what was
// asked for, each message with the id of the request (2026-07-28 basic/patterns/subscriptions).
import { within } from '../base/clock.ts';
import { INTERNAL_ERROR, INVALID_PARAMS } from '../jsonrpc/error.ts';
import { isObject, parseParams } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage, jsonText } from '../jsonrpc/serialize.ts';
import { type ClientCapabilities, tellsChanges } from '../mcp/capabilities.ts';
import { META } from '../mcp/meta.ts';
import { RESOURCE_UPDATED } from '../mcp/methods.ts';
import { ACKNOWLEDGED } from '../mcp/modern-methods.ts';
import { isPartOf } from '../mcp/subscription.ts';
import type { Downstream, Question } from '../ports/downstream.ts';
import type { ExchangeHolder } from '../ports/exchange.ts';
import type { ModernExchange } from '../ports/modern.ts';
import type { Principal } from '../ports/principal.ts';
import type { Seat } from '../ports/seat.ts';
import { withParams } from './request-text.ts';

/** How long a server may take to agree to subscriptions before the rest is acknowledged. */
const SUBSCRIBE_LIMIT_MS = 5_000;
const MAX_URIS = 1_000;
/** What the kind of an update begins with; the URI follows. */
const UPDATE_OF = `${RESOURCE_UPDATED} `;
/** Kinds of messages that are kept until the acknowledgement; one for each resource. */
const MAX_EARLY = 2_000;

/** Filter flag of each list notification, and the server capability behind it. */
const FLAGS = [
  ['toolsListChanged', 'notifications/tools/list_changed', 'tools'],
  ['promptsListChanged', 'notifications/prompts/list_changed', 'prompts'],
  ['resourcesListChanged', 'notifications/resources/list_changed', 'resources'],
] as const;

interface Filter {
  readonly flags: readonly (typeof FLAGS)[number][];
  readonly uris: readonly string[];
}

/** One listen stream. */
export class ModernListen implements Downstream, ExchangeHolder {
  readonly id = undefined;
  readonly principal: Principal;
  readonly version: string;
  /** The client's own: a private server is the same one for its calls. */
  readonly capabilities: ClientCapabilities;
  readonly info: unknown;
  readonly logThreshold = Number.POSITIVE_INFINITY;
  readonly #exchange: ModernExchange;
  readonly #subscriptionId: Buffer;
  readonly #done: () => void;
  #seat: Seat | undefined;
  #kinds: ReadonlySet<string> = new Set();
  #uris: readonly string[] = [];
  /** What came before the acknowledgement, by kind; undefined afterwards. */
  #early: Map<string, Buffer> | undefined = new Map();

  /**
   * @param done told when nothing of the stream is left
   */
  constructor(exchange: ModernExchange, done: () => void) {
    this.#exchange = exchange;
    this.#done = done;
    this.principal = exchange.client.principal;
    this.version = exchange.client.version;
    this.capabilities = exchange.client.capabilities;
    this.info = exchange.client.info;
    this.#subscriptionId = exchange.frame.idBytes ?? Buffer.from('null');
    exchange.holder = this;
  }

  /** Subscribes, acknowledges, and stays open until the client leaves. */
  async start(place: (client: Downstream) => Seat): Promise<void> {
    const filter = readFilter(parseParams(this.#exchange.frame)['notifications']);
    if (filter === undefined) {
      this.#exchange.refuse({
        code: INVALID_PARAMS,
        message: 'Invalid params: notifications must be an object of flags and URIs.',
      });
      this.#done();
      return;
    }
    const seat = place(this);
    this.#seat = seat;
    await seat.ready();
    await seat.join(undefined);
    const capabilities = seat.identity?.capabilities ?? {};
    const flags = filter.flags.filter(([, , kind]) => tellsChanges(capabilities[kind]));
    const uris = await this.#subscribe(seat, filter.uris);
    this.#kinds = new Set(flags.map(([, method]) => method));
    this.#uris = uris;
    this.#acknowledge(flags, uris);
  }

  notify(message: Buffer, kind: string | undefined): void {
    if (kind === undefined) return; // logs are never carried here
    if (this.#early === undefined) this.#send(message, kind);
    else if (this.#early.size < MAX_EARLY) this.#early.set(kind, Buffer.from(message));
  }

  ask(question: Question): void {
    question.refuse({ code: INTERNAL_ERROR, message: 'This client can be asked only in answers.' });
  }

  withdraw(): void {
    // It was asked nothing.
  }

  cancel(): void {
    this.#seat?.leave();
    this.#done();
  }

  /** Ends the stream in order: the gateway stops. */
  end(): void {
    this.cancel();
    const id = this.#subscriptionId.toString('utf8');
    const meta = `{${jsonText(META.subscriptionId)}:${id}}`;
    this.#exchange.answer(Buffer.from(`{"resultType":"complete","_meta":${meta}}`));
  }

  async #subscribe(seat: Seat, uris: readonly string[]): Promise<string[]> {
    const agreed = uris.map(async (uri) => {
      const error = await within(
        SUBSCRIBE_LIMIT_MS,
        seat.subscribe(uri).then((refused) => ({ refused })),
      );
      return error !== undefined && error.refused === undefined ? uri : undefined;
    });
    return (await Promise.all(agreed)).filter((uri) => uri !== undefined);
  }

  #acknowledge(flags: Filter['flags'], uris: readonly string[]): void {
    const notifications = {
      ...Object.fromEntries(flags.map(([flag]) => [flag, true])),
      ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    };
    this.#push(callMessage(ACKNOWLEDGED, { notifications }));
    const early = this.#early ?? new Map<string, Buffer>();
    this.#early = undefined;
    for (const [kind, message] of early) this.#send(message, kind);
  }

  #send(message: Buffer, kind: string): void {
    if (this.#kinds.has(kind) || this.#watches(kind)) this.#push(message);
  }

  // A private server may tell of resources that nobody subscribed to.
  #watches(kind: string): boolean {
    if (!kind.startsWith(UPDATE_OF)) return false;
    const uri = kind.slice(UPDATE_OF.length);
    return this.#uris.some((watched) => isPartOf(uri, watched));
  }

  #push(message: Buffer): void {
    const meta = new Map([[META.subscriptionId, this.#subscriptionId]]);
    this.#exchange.push(withParams(scan(message), meta).bytes);
  }
}

function readFilter(notifications: unknown): Filter | undefined {
  if (!isObject(notifications)) return undefined;
  const flags = FLAGS.filter(([flag]) => notifications[flag] === true);
  const isMistyped = FLAGS.some(([flag]) => !isFlag(notifications[flag]));
  const uris = notifications['resourceSubscriptions'] ?? [];
  if (isMistyped || !Array.isArray(uris) || uris.length > MAX_URIS) return undefined;
  if (uris.some((uri) => typeof uri !== 'string')) return undefined;
  return { flags, uris: uris as string[] };
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}
