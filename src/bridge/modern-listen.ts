// `subscriptions/listen` of a modern client, whatever the server: one stream that carries what was
// asked for, each message with the id of the request (2026-07-28 basic/patterns/subscriptions).
import { within } from '../base/clock.ts';
import { isTextWithin, TEXT_LIMITS } from '../base/text-limits.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, type WireError } from '../jsonrpc/error.ts';
import { isObject, type JsonObject, parseParams } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage, jsonText } from '../jsonrpc/serialize.ts';
import { type ClientCapabilities, tellsChanges } from '../mcp/capabilities.ts';
import { META } from '../mcp/meta.ts';
import { RESOURCE_UPDATED } from '../mcp/methods.ts';
import { ACKNOWLEDGED, hasTasks } from '../mcp/modern-methods.ts';
import { isPartOf, taskKind } from '../mcp/subscription.ts';
import type { Downstream, Question } from '../ports/downstream.ts';
import type { ExchangeHolder } from '../ports/exchange.ts';
import type { ModernExchange } from '../ports/modern.ts';
import type { Principal } from '../ports/principal.ts';
import type { Seat } from '../ports/seat.ts';
import { missingCapability } from './modern-errors.ts';
import { withParams } from './request-text.ts';
import { TASKS_REQUIRED } from './tasks/offered.ts';
import type { TaskWatch, TellTask } from './tasks/task-watch.ts';

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
  /** As the client knows them. */
  readonly taskIds: readonly string[];
}

/** Where a stream listens: a server, or several as one. */
export interface ListenPlace {
  readonly capabilities: JsonObject;
  /**
   * From now on what the server tells reaches the stream.
   * @throws GatewayError when it can't be had
   */
  join(): Promise<void>;
  subscribe(uri: string): Promise<WireError | undefined>;
  /**
   * Watches a task, and tells the stream of it.
   * @returns false when it is none of this client's; absent where no tasks can be watched
   */
  watch?(taskId: string, tell: TellTask): Promise<boolean>;
  leave(): void;
}

/** A place at one server. */
export class SeatPlace implements ListenPlace {
  readonly #seat: Seat;
  readonly #tasks: (tell: TellTask) => TaskWatch;
  #watch: TaskWatch | undefined;

  /**
   * @param tasks makes what watches tasks
   */
  constructor(seat: Seat, tasks: (tell: TellTask) => TaskWatch) {
    this.#seat = seat;
    this.#tasks = tasks;
  }

  get capabilities(): JsonObject {
    return this.#seat.identity?.capabilities ?? {};
  }

  async join(): Promise<void> {
    await this.#seat.ready();
    await this.#seat.join(undefined);
  }

  subscribe(uri: string): Promise<WireError | undefined> {
    return this.#seat.subscribe(uri);
  }

  watch(taskId: string, tell: TellTask): Promise<boolean> {
    this.#watch ??= this.#tasks(tell);
    return this.#watch.watch(taskId);
  }

  leave(): void {
    this.#watch?.leave();
    this.#seat.leave();
  }
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
  #place: ListenPlace | undefined;
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
  async start(placeFor: (client: Downstream) => ListenPlace): Promise<void> {
    const filter = readFilter(parseParams(this.#exchange.frame)['notifications']);
    if (filter === undefined) {
      this.#exchange.refuse({
        code: INVALID_PARAMS,
        message: `Invalid params: notifications must be an object of flags and URIs, ${MAX_URIS} at most and of ${TEXT_LIMITS.uri} bytes each.`,
      });
      this.#done();
      return;
    }
    if (filter.taskIds.length > 0 && !hasTasks(this.capabilities)) {
      this.#exchange.refuse(missingCapability(TASKS_REQUIRED));
      this.#done();
      return;
    }
    const place = placeFor(this);
    this.#place = place;
    await place.join();
    const { capabilities } = place;
    const flags = filter.flags.filter(([, , kind]) => tellsChanges(capabilities[kind]));
    const uris = await honoured(filter.uris, (uri) =>
      place.subscribe(uri).then((refused) => refused === undefined),
    );
    const tell: TellTask = (message, kind) => this.notify(message, kind);
    const taskIds = await honoured(filter.taskIds, (taskId) => {
      return place.watch?.(taskId, tell) ?? Promise.resolve(false);
    });
    this.#kinds = new Set([...flags.map(([, method]) => method), ...taskIds.map(taskKind)]);
    this.#uris = uris;
    this.#acknowledge(flags, uris, taskIds);
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
    this.#place?.leave();
    this.#done();
  }

  /** Ends the stream in order: the gateway stops. */
  end(): void {
    this.cancel();
    const id = this.#subscriptionId.toString('utf8');
    const meta = `{${jsonText(META.subscriptionId)}:${id}}`;
    this.#exchange.answer(Buffer.from(`{"resultType":"complete","_meta":${meta}}`));
  }

  #acknowledge(flags: Filter['flags'], uris: readonly string[], taskIds: readonly string[]): void {
    const notifications = {
      ...Object.fromEntries(flags.map(([flag]) => [flag, true])),
      ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
      ...(taskIds.length > 0 ? { taskIds } : {}),
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

/** Those that a server agrees to in time. */
async function honoured(
  wanted: readonly string[],
  agrees: (one: string) => Promise<boolean>,
): Promise<string[]> {
  const agreed = wanted.map(async (one) => {
    return (await within(SUBSCRIBE_LIMIT_MS, agrees(one))) === true ? one : undefined;
  });
  return (await Promise.all(agreed)).filter((one) => one !== undefined);
}

function readFilter(notifications: unknown): Filter | undefined {
  if (!isObject(notifications)) return undefined;
  const flags = FLAGS.filter(([flag]) => notifications[flag] === true);
  const isMistyped = FLAGS.some(([flag]) => !isFlag(notifications[flag]));
  const uris = textsOf(notifications['resourceSubscriptions'], TEXT_LIMITS.uri);
  const taskIds = textsOf(notifications['taskIds'], TEXT_LIMITS.taskId);
  if (isMistyped || uris === undefined || taskIds === undefined) return undefined;
  return { flags, uris, taskIds };
}

function textsOf(list: unknown, maxLength: number): string[] | undefined {
  if (list === undefined) return [];
  const isList = Array.isArray(list) && list.length <= MAX_URIS;
  return isList && list.every((one) => isTextWithin(one, maxLength)) ? list : undefined;
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}
