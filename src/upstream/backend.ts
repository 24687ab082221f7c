// A configured server with all its instances: gives clients leases of them
// (docs/configuration.md#serversname).
import { drained } from '../base/drain.ts';
import { UNBOUNDED } from '../base/held-bytes.ts';
import { InteractiveTools } from '../mux/interactive-tools.ts';
import { Traffic } from '../observe/traffic.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Backend, Lease } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import { credentialFingerprint } from './credential-fingerprint.ts';
import type { Instance } from './instance.ts';
import { GENERATION_MARK, InstanceLease, type InstancePool } from './instance-lease.ts';
import { KnownEra } from './known-era.ts';
import type { ServerOptions } from './options.ts';
import { PrivateInstances } from './private-instances.ts';
import { Replicas } from './replicas.ts';
import type { BackendParts, ServerContext } from './server-context.ts';

/** A configured server. */
export class ServerBackend implements Backend {
  readonly name: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  readonly traffic: Traffic;
  /** A copy of its own, of which timeouts and limits may change. */
  readonly #options: ServerOptions;
  /** Only for a shared server. */
  readonly #replicas: Replicas | undefined;
  readonly #pool: InstancePool;
  /** The one of the same name that this one is in the place of, until it is gone. */
  #before: ServerBackend | undefined;

  /** @param before the one of the same name that it is to be in the place of */
  constructor(configured: ServerOptions, parts: BackendParts, before?: ServerBackend) {
    const { name, sharing } = configured;
    const { timeouts, limits } = configured;
    const options = { ...configured, timeouts: { ...timeouts }, limits: { ...limits } };
    this.name = name;
    this.protocol = options.protocol;
    this.#options = options;
    this.#before = before;
    this.traffic = before?.traffic ?? new Traffic();
    const isShared = sharing === 'shared';
    const server: ServerContext = {
      ...parts,
      options,
      logger: parts.logger.child({ server: name }),
      isShared,
      tools: new InteractiveTools(),
      era: new KnownEra(),
      traffic: this.traffic,
      owner: () => (parts.held ?? UNBOUNDED).server(name),
    };
    this.#replicas = isShared ? new Replicas(server) : undefined;
    this.#pool = this.#replicas ?? new PrivateInstances(server);
  }

  /** The number of instances with a process. */
  get instances(): number {
    return this.#pool.all.filter((instance) => instance.hasProcess).length;
  }

  /** Whether a client could use it now. Private instances are started on demand, so it is up without any. */
  get isUp(): boolean {
    return this.#replicas?.isUp ?? true;
  }

  get isShared(): boolean {
    return this.#replicas !== undefined;
  }

  /** Why it is down, for the user who runs the gateway. */
  get failure(): string | undefined {
    return this.#replicas?.failure;
  }

  /** Calls here, waiting, or gone on as tasks. */
  get load(): number {
    return this.#pool.all.reduce((sum, { load }) => sum + load, 0);
  }

  get inFlight(): number {
    return this.#pool.all.reduce((sum, instance) => sum + instance.inFlight, 0);
  }

  get queued(): number {
    return this.#pool.all.reduce((sum, instance) => sum + instance.queue.queued, 0);
  }

  /** Starts what must run before the first client comes. Resolves after the first attempt. */
  async start(): Promise<void> {
    await this.#replicas?.start();
  }

  credentialFingerprint(principal: Principal): string {
    return credentialFingerprint(this.#options, principal);
  }

  acquire(client: Downstream): Lease {
    return this.#lease(client, this.#pool.acquire(client));
  }

  acquireExisting(client: Downstream): Lease | undefined {
    const instance = this.#pool.acquireExisting(client);
    return instance && this.#lease(client, instance);
  }

  acquireById(client: Downstream, at: string): Lease | undefined {
    return this.#acquireHere(client, at) ?? this.#before?.acquireById(client, at);
  }

  #acquireHere(client: Downstream, at: string): Lease | undefined {
    const end = at.lastIndexOf(GENERATION_MARK);
    const instance = this.#pool.acquireNamed(client, at.slice(0, end));
    if (instance === undefined) return undefined;
    const lease = this.#lease(client, instance);
    if (instance.generation === at.slice(end + GENERATION_MARK.length)) return lease;
    lease.leave();
    return undefined;
  }

  /**
   * Obeys other options without a restart.
   * @param options that only differ in what a running server need not know (`isSameServer`)
   */
  obey({ timeouts, limits }: ServerOptions): void {
    Object.assign(this.#options.timeouts, { idle: undefined }, timeouts);
    Object.assign(this.#options.limits, limits);
    for (const instance of this.#pool.all) instance.obey();
  }

  /** No clients come any more, and those that leave end no call that was begun; `drain` follows. */
  retire(): void {
    this.#pool.retire();
  }

  /** Lets calls that were begun end, as long as they may, then stops every instance. */
  async drain(limitMs: number): Promise<void> {
    await drained(() => this.load > 0, limitMs);
    await this.close('server_unavailable');
  }

  /** The clients of another one are here by now: they are told which lists are other ones. */
  succeed(before: ServerBackend): void {
    // A private one tells its own client: see InstanceLease.
    for (const instance of this.#replicas?.all ?? []) instance.succeed(before.#pool.all);
  }

  /** Another one is gone, maybe the one that this one is in the place of. */
  forget(other: ServerBackend): void {
    if (this.#before === other) this.#before = undefined;
  }

  /** Stops all instances. */
  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    await this.#pool.close(reason);
  }

  #lease(client: Downstream, instance: Instance): InstanceLease {
    return new InstanceLease(client, instance, this.#pool);
  }
}
