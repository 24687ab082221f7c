// A configured server with its instances: which of them serves whom
// (docs/configuration.md#serversname).
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
  readonly traffic = new Traffic();
  readonly #options: ServerOptions;
  /** Of a server that everybody shares. */
  readonly #replicas: Replicas | undefined;
  readonly #pool: InstancePool;

  constructor(options: ServerOptions, parts: BackendParts) {
    const { name, sharing } = options;
    this.name = name;
    this.protocol = options.protocol;
    this.#options = options;
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

  /** Instances with a process. */
  get instances(): number {
    return this.#pool.all.filter((instance) => instance.hasProcess).length;
  }

  /** Whether a client could use it now. Private instances come and go, so none is well too. */
  get isUp(): boolean {
    return this.#replicas?.isUp ?? true;
  }

  get isShared(): boolean {
    return this.#replicas !== undefined;
  }

  /** Why it is not up, for whoever runs the gateway. */
  get failure(): string | undefined {
    return this.#replicas?.failure;
  }

  get inFlight(): number {
    return this.#pool.all.reduce((sum, instance) => sum + instance.inFlight, 0);
  }

  get queued(): number {
    return this.#pool.all.reduce((sum, instance) => sum + instance.queue.queued, 0);
  }

  /** Starts what is to run before the first client comes; resolves after the first attempt. */
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
    const end = at.lastIndexOf(GENERATION_MARK);
    const instance = this.#pool.acquireNamed(client, at.slice(0, end));
    if (instance === undefined) return undefined;
    const lease = this.#lease(client, instance);
    if (instance.generation === at.slice(end + GENERATION_MARK.length)) return lease;
    lease.leave();
    return undefined;
  }

  /** Stops every instance. */
  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    await this.#pool.close(reason);
  }

  #lease(client: Downstream, instance: Instance): InstanceLease {
    return new InstanceLease(client, instance, this.#pool);
  }
}
