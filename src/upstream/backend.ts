// A configured server with its instances: which of them serves whom
// (docs/configuration.md#serversname).
import { GatewayError } from '../base/errors.ts';
import { type HeldBytes, UNBOUNDED } from '../base/held-bytes.ts';
import {
  legacyCapabilities,
  principalClientCapabilities,
  sharedClientCapabilities,
} from '../mcp/capabilities.ts';
import { isLegacyVersion, NEWEST_LEGACY } from '../mcp/versions.ts';
import { InteractiveTools } from '../mux/interactive-tools.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { Traffic } from '../observe/traffic.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Backend, Lease } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import { credentialFingerprint, instanceFingerprint } from './credential-fingerprint.ts';
import type { FirstStarts } from './first-starts.ts';
import { type ClientIdentity, gatewayIdentity } from './handshake.ts';
import { Instance } from './instance.ts';
import { InstanceLease, type LeaseContext } from './instance-lease.ts';
import { KnownEra } from './known-era.ts';
import type { ServerOptions } from './options.ts';
import { PrivateInstances } from './private-instances.ts';
import type { ProcessBudget, ProcessSlot } from './process-budget.ts';
import type { OpenChannel } from './server-channel.ts';

export interface BackendParts {
  readonly budget: ProcessBudget;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Where what is held for servers and clients counts; absent: there is no limit. */
  readonly held?: HeldBytes | undefined;
  readonly openChannel: OpenChannel;
  readonly gatewayVersion: string;
  /** Whether callers run the gateway, and may know all that it knows of a server that fails. */
  readonly exposesDetails: boolean;
  /** Whether a server that refuses the gateway is tried again only when somebody asks for it. */
  readonly isTriedOnDemand?: boolean;
  /** Told of starts, where a server that is never ready ends the gateway. */
  readonly firstStarts?: FirstStarts | undefined;
}

/** After this without a call a client that had a stream open and has none now has probably left. */
const ABSENT_MS = 300_000;
/** The same for a client that never opened one: some don't, and show that they are there by calls alone. */
const UNHEARD_MS = 1_800_000;

/** Stands between the name of an instance and its generation. */
const GENERATION_MARK = '@';

/** A configured server. */
export class ServerBackend implements Backend {
  readonly name: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  readonly traffic = new Traffic();
  readonly #options: ServerOptions;
  readonly #parts: BackendParts;
  readonly #logger: Logger;
  readonly #tools = new InteractiveTools();
  readonly #era = new KnownEra();
  readonly #replicas: Instance[] = [];
  readonly #private: PrivateInstances | undefined;
  readonly #leaseContext: LeaseContext;

  constructor(options: ServerOptions, parts: BackendParts) {
    this.name = options.name;
    this.protocol = options.protocol;
    this.#options = options;
    this.#parts = parts;
    this.#logger = parts.logger.child({ server: options.name });
    this.#leaseContext = {
      server: options.name,
      isShared: options.sharing === 'shared',
      nameOf: (instance) => {
        const name = this.#private?.nameOf(instance) ?? this.#replicaName(instance);
        return `${name}${GENERATION_MARK}${instance.generation}`;
      },
      alternative: (request, own) => this.#alternative(request, own),
      left: (lease) => this.#private?.release(lease.instance, lease.client),
    };
    if (options.sharing === 'shared') this.#createReplicas();
    else this.#private = this.#createPrivate(options.sharing);
  }

  /** Instances with a process. */
  get instances(): number {
    return this.#all().filter((instance) => instance.hasProcess).length;
  }

  /** Whether a client could use it now. Private instances come and go, so none is well too. */
  get isUp(): boolean {
    if (this.#options.sharing !== 'shared') return true;
    return this.#replicas.some((instance) => instance.isUp || this.#options.start === 'lazy');
  }

  /** Why it is not up, for whoever runs the gateway. */
  get failure(): string | undefined {
    if (this.isUp) return undefined;
    const ended = this.#replicas.find(({ lastEnd }) => lastEnd.text !== undefined);
    return ended?.lastEnd.text ?? 'is still starting';
  }

  get inFlight(): number {
    return this.#all().reduce((sum, instance) => sum + instance.inFlight, 0);
  }

  get queued(): number {
    return this.#all().reduce((sum, instance) => sum + instance.queued, 0);
  }

  /** Starts what is to run before the first client comes; resolves after the first attempt. */
  async start(): Promise<void> {
    if (this.#options.sharing !== 'shared' || this.#options.start === 'lazy') return;
    await Promise.all(
      this.#replicas.map((instance) =>
        instance.ready().catch((error: unknown) => {
          if (error instanceof GatewayError && error.reason === 'draining') return;
          const isExplained = error instanceof GatewayError;
          const why = isExplained ? { why: error.message } : { err: error };
          this.#logger.error(why, 'server could not be started, it is tried again');
        }),
      ),
    );
  }

  credentialFingerprint(principal: Principal): string {
    return credentialFingerprint(this.#options, principal);
  }

  acquire(client: Downstream): Lease {
    return new InstanceLease(client, this.#instanceFor(client), this.#leaseContext);
  }

  acquireExisting(client: Downstream): Lease | undefined {
    if (this.#private === undefined) return this.acquire(client);
    const instance = this.#private.acquireIfThere(client);
    return instance && new InstanceLease(client, instance, this.#leaseContext);
  }

  acquireById(client: Downstream, at: string): Lease | undefined {
    const end = at.lastIndexOf(GENERATION_MARK);
    const name = at.slice(0, end);
    const instance =
      this.#private?.acquireNamed(client, name) ??
      this.#replicas.find((replica) => this.#replicaName(replica) === name);
    if (instance === undefined) return undefined;
    const lease = new InstanceLease(client, instance, this.#leaseContext);
    if (instance.generation === at.slice(end + GENERATION_MARK.length)) return lease;
    lease.leave();
    return undefined;
  }

  /** Stops every instance. */
  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    await Promise.all([
      ...this.#replicas.map((instance) => instance.close(reason)),
      this.#private?.close(reason),
    ]);
  }

  #replicaName(instance: Instance): string {
    return String(this.#replicas.indexOf(instance));
  }

  #all(): Instance[] {
    return [...this.#replicas, ...(this.#private?.all() ?? [])];
  }

  #createReplicas(): void {
    const { roots, replicas } = this.#options;
    const capabilities = sharedClientCapabilities(roots.length > 0);
    const clientIdentity = gatewayIdentity(capabilities, this.#parts.gatewayVersion);
    for (let replica = 0; replica < replicas; replica++) {
      this.#replicas.push(this.#createInstance(clientIdentity, this.#logger.child({ replica })));
    }
  }

  #createPrivate(sharing: 'principal' | 'session'): PrivateInstances {
    return new PrivateInstances({
      server: this.name,
      sharing,
      isReplaceable: this.protocol === 'mcp',
      absentMs: this.#options.timeouts.idle ?? ABSENT_MS,
      unheardMs: this.#options.timeouts.idle ?? UNHEARD_MS,
      budget: this.#parts.budget,
      logger: this.#logger,
      instanceFingerprint: (client) => instanceFingerprint(this.#options, client.principal),
      create: (client, key, takePlace) => {
        const logger = this.#logger.child({ key });
        return this.#createInstance(identityOf(client, sharing), logger, takePlace);
      },
    });
  }

  #createInstance(
    clientIdentity: ClientIdentity,
    logger: Logger,
    takePlace?: () => ProcessSlot,
  ): Instance {
    return new Instance({
      takeSlot: takePlace,
      options: this.#options,
      isShared: this.#options.sharing === 'shared',
      clientIdentity,
      tools: this.#tools,
      era: this.#era,
      traffic: this.traffic,
      logger,
      budget: this.#parts.budget,
      metrics: this.#parts.metrics,
      owner: () => (this.#parts.held ?? UNBOUNDED).server(this.name),
      held: this.#parts.held,
      openChannel: this.#parts.openChannel,
      exposesDetails: this.#parts.exposesDetails,
      isTriedOnDemand: this.#parts.isTriedOnDemand,
      firstStarts: this.#parts.firstStarts,
    });
  }

  #instanceFor(client: Downstream): Instance {
    return this.#private?.acquire(client) ?? leastLoaded(this.#replicas);
  }

  /**
   * Another replica without such calls of other clients, for a call of an interactive tool that
   * would have to wait.
   */
  #alternative(request: Request, own: Instance): Instance {
    if (this.#replicas.length < 2 || !own.hasInteractiveCallOfOthers(request.client)) return own;
    if (this.#tools.match(request.frame) === undefined) return own;
    const free = this.#replicas.find(
      (instance) =>
        instance.state === 'ready' && !instance.hasInteractiveCallOfOthers(request.client),
    );
    return free ?? own;
  }
}

/**
 * The server of one session sees its client as it is; a modern one as far as the handshake can say.
 * That of one principal is told what all of its clients may be, by the newest revision.
 */
function identityOf(client: Downstream, sharing: 'principal' | 'session'): ClientIdentity {
  const isLegacy = isLegacyVersion(client.version);
  const own = isLegacy ? client.capabilities : legacyCapabilities(client.capabilities);
  const isOnly = sharing === 'session';
  return {
    version: isLegacy && isOnly ? client.version : NEWEST_LEGACY,
    capabilities: isOnly ? own : principalClientCapabilities(own),
    clientInfo: client.info ?? { name: 'unknown', version: '0' },
  };
}

/** Of those that are up the instance with the fewest calls, then the fewest clients. */
function leastLoaded(instances: readonly Instance[]): Instance {
  const [first, ...others] = instances;
  if (first === undefined) throw new RangeError('a shared server has at least one instance');
  return others.reduce(
    (best, instance) => (weight(instance) < weight(best) ? instance : best),
    first,
  );
}

function weight(instance: Instance): number {
  // One that keeps ending has no calls: everybody would go there.
  const isDown = instance.state === 'backoff' ? 1 : 0;
  return isDown * 1e12 + instance.load * 1e6 + instance.fanOut.size;
}
