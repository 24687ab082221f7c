// The servers of a gateway: those that clients are shown, those that are being started to be shown, and those
// that only end what was begun (docs/operations.md#reload). The one owner of the backends.
import { within } from '../base/clock.ts';
import type { Snapshot } from '../observe/metrics.ts';
import { ServerBackend } from '../upstream/backend.ts';
import type { ServerOptions } from '../upstream/options.ts';
import { isSameServer } from '../upstream/same-server.ts';
import type { BackendParts } from '../upstream/server-context.ts';

/** A server, and what it was made with or obeys by now. */
interface KnownServer {
  readonly options: ServerOptions;
  readonly backend: ServerBackend;
}

/** One that is started beside those that are shown. */
export interface ComingServer extends KnownServer {
  /** What it will be in the place of. */
  readonly before: ServerBackend | undefined;
}

/** What another configuration makes of the servers. */
export interface ServerChanges {
  readonly coming: readonly ComingServer[];
  /** Not shown any more. */
  readonly gone: readonly ServerBackend[];
}

/** All servers. */
export class Servers {
  readonly #parts: BackendParts;
  /** By name. */
  readonly #shown = new Map<string, KnownServer>();
  /** Whatever has instances. */
  readonly #all = new Set<ServerBackend>();

  constructor(parts: BackendParts) {
    this.#parts = parts;
  }

  /** Those that clients may use, by name. */
  get shown(): ReadonlyMap<string, Pick<KnownServer, 'backend'>> {
    return this.#shown;
  }

  /** Makes those of the first configuration. */
  open(configured: readonly ServerOptions[]): void {
    for (const options of configured) {
      this.#shown.set(options.name, { options, backend: this.#make(options) });
    }
  }

  /** Starts them; resolves when each had its first attempt. */
  async start(): Promise<void> {
    await Promise.all([...this.#shown.values()].map(({ backend }) => backend.start()));
  }

  /**
   * Goes on with another configuration: servers that are the same stay as they are, those that are not in it
   * are not shown any more, and for the others new ones are made.
   */
  change(configured: readonly ServerOptions[]): ServerChanges {
    const names = new Set(configured.map(({ name }) => name));
    const gone = [...this.#shown.values()].filter(({ options }) => !names.has(options.name));
    for (const { options } of gone) this.#shown.delete(options.name);
    const coming = configured.flatMap((options): ComingServer[] => {
      const known = this.#shown.get(options.name);
      if (known === undefined || !isSameServer(known.options, options)) {
        const before = known?.backend;
        return [{ options, before, backend: this.#make(options, before) }];
      }
      known.backend.obey(options);
      this.#shown.set(options.name, { options, backend: known.backend });
      return [];
    });
    return { coming, gone: gone.map(({ backend }) => backend) };
  }

  /** Starts one; resolves after its first attempt, or when that takes as long as a start may. */
  async prepare({ backend, options }: ComingServer): Promise<void> {
    await within(options.timeouts.start, backend.start());
  }

  /** From now on clients are shown this one. */
  show({ options, backend }: ComingServer): void {
    this.#shown.set(options.name, { options, backend });
  }

  /** Ends one that is not shown any more, when what was begun there is done. */
  async drain(backend: ServerBackend, limitMs: number): Promise<void> {
    await backend.drain(limitMs);
    this.#all.delete(backend);
    for (const other of this.#all) other.forget(backend);
  }

  /** Whether there is one of that name, shown or not. */
  has(name: string): boolean {
    return this.#shown.has(name) || [...this.#all].some((backend) => backend.name === name);
  }

  /** Ends all of them. */
  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    await Promise.all([...this.#all].map((backend) => backend.close(reason)));
  }

  /** Servers that can't be used now, and why. */
  get unavailable(): Record<string, string> {
    const down = [...this.#shown.values()].flatMap(({ backend }): [string, string][] =>
      backend.failure === undefined ? [] : [[backend.name, backend.failure]],
    );
    return Object.fromEntries(down);
  }

  /** What metrics say of them: what ends counts for the server of that name. */
  get snapshot(): Snapshot['servers'] {
    return [...this.#shown.values()].map(({ backend: { name, isUp, traffic } }) => {
      const all = [...this.#all].filter((backend) => backend.name === name);
      const sumOf = (count: (backend: ServerBackend) => number): number =>
        all.reduce((sum, backend) => sum + count(backend), 0);
      return {
        name,
        isUp,
        traffic,
        instances: sumOf(({ instances }) => instances),
        inFlight: sumOf(({ inFlight }) => inFlight),
        queued: sumOf(({ queued }) => queued),
      };
    });
  }

  #make(options: ServerOptions, before?: ServerBackend): ServerBackend {
    const backend = new ServerBackend(options, this.#parts, before);
    this.#all.add(backend);
    return backend;
  }
}
