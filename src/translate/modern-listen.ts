// `subscriptions/listen` of a modern client at a server of either era: one stream with the requested
// notifications, each with the id of the request (2026-07-28 basic/patterns/subscriptions).
import { within } from '../base/clock.ts';
import { isTextWithin, TEXT_LIMITS } from '../base/text-limits.ts';
import { LEAST_COST, TurnQuota, turnFor } from '../base/turns.ts';
import { invalidParams, type WireError } from '../jsonrpc/error.ts';
import { isObject, type JsonObject, parseParams } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage, jsonText } from '../jsonrpc/serialize.ts';
import { tellsChanges } from '../mcp/capabilities.ts';
import { missingCapability, UNASKABLE } from '../mcp/errors.ts';
import { META } from '../mcp/meta.ts';
import { RESOURCE_UPDATED } from '../mcp/methods.ts';
import { ACKNOWLEDGED, hasTasks } from '../mcp/modern-methods.ts';
import { taskKind, WatchedUris } from '../mcp/subscription.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Lease, SubscribeAnswered } from '../ports/lease.ts';
import type { Canceller, Request } from '../ports/request.ts';
import { SilentClient } from '../ports/silent-client.ts';
import type { OpenListen, OpenListens } from './open-listens.ts';
import { withParams } from './request-text.ts';
import { TASKS_REQUIRED } from './tasks/task-support.ts';
import type { TaskWatch, TellTask } from './tasks/task-watch.ts';

/** How long to wait for a server's subscriptions, before those that are done are acknowledged. */
const SUBSCRIBE_LIMIT_MS = 5_000;
const MAX_URIS = 1_000;
/** The beginning of the kind of an update; the URI follows. */
const UPDATE_OF = `${RESOURCE_UPDATED} `;
/** Limit for messages before the acknowledgement; one for each kind is kept. */
const MAX_EARLY_BYTES = 256 * 1_024;
/** How many tasks one stream begins to watch at the same time. */
const TASKS_AT_ONCE = 16;
/** How many tasks all streams begin to watch in one turn of the event loop. */
const TASKS_IN_TURN = new TurnQuota(64 * LEAST_COST);

/** The filter flag for each list notification, and the server capability that it needs. */
const FLAGS = [
  ['toolsListChanged', 'notifications/tools/list_changed', 'tools'],
  ['promptsListChanged', 'notifications/prompts/list_changed', 'prompts'],
  ['resourcesListChanged', 'notifications/resources/list_changed', 'resources'],
] as const;

interface Filter {
  readonly flags: readonly (typeof FLAGS)[number][];
  readonly uris: readonly string[];
  /** The client's ids. */
  readonly taskIds: readonly string[];
}

/** What a stream listens to: one server, or several as one. */
export interface ListenTarget {
  readonly capabilities: JsonObject;
  /**
   * From now on the stream gets the server's notifications.
   * @throws GatewayError if the server is not available
   */
  join(): Promise<void>;
  /**
   * Watches resources.
   * @param answered called for each: with the server's error, or undefined
   * @returns resolves when all are answered
   */
  subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void>;
  /**
   * Watches a task, and tells the stream of it.
   * @returns false when it is none of this client's; absent where no tasks can be watched
   */
  watch?(taskId: string, tell: TellTask): Promise<boolean>;
  leave(): void;
}

/** A lease of one server. */
export class LeaseListenTarget implements ListenTarget {
  readonly #lease: Lease;
  readonly #tasks: (tell: TellTask) => TaskWatch;
  #watch: TaskWatch | undefined;

  /** @param tasks makes the object that watches tasks */
  constructor(lease: Lease, tasks: (tell: TellTask) => TaskWatch) {
    this.#lease = lease;
    this.#tasks = tasks;
  }

  get capabilities(): JsonObject {
    return this.#lease.identity?.capabilities ?? {};
  }

  async join(): Promise<void> {
    await this.#lease.ready();
    await this.#lease.join(undefined);
  }

  subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void> {
    return this.#lease.subscribeAll(uris, answered);
  }

  watch(taskId: string, tell: TellTask): Promise<boolean> {
    this.#watch ??= this.#tasks(tell);
    return this.#watch.watch(taskId);
  }

  leave(): void {
    this.#watch?.leave();
    this.#lease.leave();
  }
}

/** One listen stream. */
export class ModernListen extends SilentClient implements Canceller, OpenListen {
  readonly id = undefined;
  readonly endpoint: string;
  readonly #request: Request;
  readonly #subscriptionId: Buffer;
  readonly #listens: OpenListens;
  #target: ListenTarget | undefined;
  /** What is sent: what was requested, and after the acknowledgement what was granted. */
  #kinds: ReadonlySet<string> = new Set();
  #uris = new WatchedUris<true>();
  /** Messages before the acknowledgement, by kind; undefined afterwards. */
  #early: Map<string, Buffer> | undefined = new Map();
  #earlyBytes = 0;
  #isOver = false;

  /**
   * @param endpoint the name of the one that it came to
   * @param listens all streams; this one is among them until it ends
   */
  constructor(request: Request, endpoint: string, listens: OpenListens) {
    // With the client's own capabilities, so that it uses the same private instance as the client's calls.
    super(request.client.principal, request.client, UNASKABLE.modern);
    this.endpoint = endpoint;
    this.#request = request;
    this.#listens = listens;
    this.#subscriptionId = request.frame.idBytes ?? Buffer.from('null');
    request.canceller = this;
    listens.add(this);
  }

  /**
   * Subscribes, acknowledges, and stays open until the client leaves.
   * @throws GatewayError if the server is not available
   */
  async start(targetFor: (client: Downstream) => ListenTarget): Promise<void> {
    const filter = readFilter(parseParams(this.#request.frame)['notifications']);
    if (filter === undefined) {
      const rule = `${MAX_URIS} at most and of ${TEXT_LIMITS.uri} bytes each`;
      this.#refuse(invalidParams(`notifications must be an object of flags and URIs, ${rule}.`));
      return;
    }
    if (filter.taskIds.length > 0 && !hasTasks(this.capabilities)) {
      this.#refuse(missingCapability(TASKS_REQUIRED));
      return;
    }
    this.#listens.take(this, [...filter.uris, ...filter.taskIds]);
    this.#carry(filter);
    const target = targetFor(this);
    this.#target = target;
    await target.join();
    const { capabilities } = target;
    const flags = filter.flags.filter(([, , kind]) => tellsChanges(capabilities[kind]));
    const [{ uris, refusal }, taskIds] = await Promise.all([
      this.#subscribe(target, filter.uris),
      this.#watch(target, filter.taskIds),
    ]);
    if (this.#isOver) return;
    const hasNothing = uris.length + taskIds.length === 0;
    if (hasNothing && refusal !== undefined) this.#refuse(refusal);
    else this.#acknowledge({ flags, uris, taskIds });
  }

  /**
   * Subscribes to resources.
   * @returns those that the server accepted in time, and why there was no room for others
   */
  async #subscribe(
    target: ListenTarget,
    wanted: readonly string[],
  ): Promise<{ uris: string[]; refusal: WireError | undefined }> {
    const agreed = new Set<string>();
    let refusal: WireError | undefined;
    const all = target.subscribeAll(wanted, (uri, error) => {
      if (error === undefined) agreed.add(uri);
      else if (isOverloaded(error)) refusal = error;
    });
    if (wanted.length > 0) await within(SUBSCRIBE_LIMIT_MS, all);
    return { uris: wanted.filter((uri) => agreed.has(uri)), refusal };
  }

  /** Watches tasks. Returns those that can be watched, and are watched in time. */
  async #watch(target: ListenTarget, wanted: readonly string[]): Promise<string[]> {
    const watched = new Set<string>();
    const tell: TellTask = (message, kind) => this.notify(message, kind);
    const left = wanted[Symbol.iterator]();
    const some = async (): Promise<void> => {
      for (const taskId of left) {
        const turn = turnFor(TASKS_IN_TURN, taskId.length);
        if (turn !== undefined) await turn;
        if (!this.#isOver && (await target.watch?.(taskId, tell)) === true) watched.add(taskId);
      }
    };
    const all = Promise.all(Array.from({ length: TASKS_AT_ONCE }, some));
    if (wanted.length > 0) await within(SUBSCRIBE_LIMIT_MS, all);
    return wanted.filter((taskId) => watched.has(taskId));
  }

  override notify(message: Buffer, kind: string | undefined): void {
    if (kind === undefined) return; // listen streams carry no log messages
    if (!this.#carries(kind)) return;
    if (this.#early === undefined) this.#push(message);
    else this.#keep(this.#early, message, kind);
  }

  #keep(early: Map<string, Buffer>, message: Buffer, kind: string): void {
    const bytes = this.#earlyBytes + message.length - (early.get(kind)?.length ?? 0);
    if (bytes > MAX_EARLY_BYTES) return;
    this.#earlyBytes = bytes;
    early.set(kind, Buffer.from(message));
  }

  cancel(): void {
    this.#isOver = true;
    this.#target?.leave();
    this.#listens.delete(this);
  }

  #refuse(error: WireError): void {
    this.cancel();
    this.#request.settle(error);
  }

  /** Ends the stream gracefully, because the gateway stops. */
  end(): void {
    this.cancel();
    const id = this.#subscriptionId.toString('utf8');
    const meta = `{${jsonText(META.subscriptionId)}:${id}}`;
    this.#request.settle(Buffer.from(`{"resultType":"complete","_meta":${meta}}`));
  }

  #acknowledge(agreed: Filter): void {
    const { flags, uris, taskIds } = agreed;
    const notifications = {
      ...Object.fromEntries(flags.map(([flag]) => [flag, true])),
      ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
      ...(taskIds.length > 0 ? { taskIds } : {}),
    };
    this.#push(callMessage(ACKNOWLEDGED, { notifications }));
    this.#carry(agreed);
    const early = this.#early ?? new Map<string, Buffer>();
    this.#early = undefined;
    for (const [kind, message] of early) if (this.#carries(kind)) this.#push(message);
  }

  #carry({ flags, uris, taskIds }: Filter): void {
    this.#kinds = new Set([...flags.map(([, method]) => method), ...taskIds.map(taskKind)]);
    this.#uris = new WatchedUris();
    for (const uri of uris) this.#uris.set(uri, true);
  }

  // A private server may send updates of resources that were not subscribed.
  #carries(kind: string): boolean {
    if (this.#kinds.has(kind)) return true;
    return (
      kind.startsWith(UPDATE_OF) && this.#uris.covering(kind.slice(UPDATE_OF.length)).length > 0
    );
  }

  #push(message: Buffer): void {
    const meta = new Map([[META.subscriptionId, this.#subscriptionId]]);
    this.#request.push(withParams(scan(message), meta).bytes);
  }
}

function isOverloaded({ data }: WireError): boolean {
  return isObject(data) && data['reason'] === 'overloaded';
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
  if (!isList || !list.every((one) => isTextWithin(one, maxLength))) return undefined;
  return [...new Set(list)];
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}
