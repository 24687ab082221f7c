// The instances of a shared server: each client gets the one with the least load
// (docs/configuration.md#serversname).
import { GatewayError } from '../base/errors.ts';
import { sharedClientCapabilities } from '../mcp/capabilities.ts';
import type { Request } from '../ports/request.ts';
import { gatewayIdentity } from './handshake.ts';
import { Instance } from './instance.ts';
import type { InstancePool } from './instance-lease.ts';
import type { ServerContext } from './server-context.ts';

/** The shared instances of one server. */
export class Replicas implements InstancePool {
  readonly #server: ServerContext;
  readonly #instances: Instance[] = [];

  constructor(server: ServerContext) {
    this.#server = server;
    const { options, gatewayVersion, logger } = server;
    const capabilities = sharedClientCapabilities(options.roots.length > 0);
    const clientIdentity = gatewayIdentity(capabilities, gatewayVersion);
    for (let replica = 0; replica < options.replicas; replica++) {
      this.#instances.push(new Instance(server, clientIdentity, logger.child({ replica })));
    }
  }

  get all(): readonly Instance[] {
    return this.#instances;
  }

  get isUp(): boolean {
    return this.#instances.some(({ isUp }) => isUp || this.#server.options.start === 'lazy');
  }

  /** Why it is down, for the user who runs the gateway. */
  get failure(): string | undefined {
    if (this.isUp) return undefined;
    const ended = this.#instances.find(({ lastEnd }) => lastEnd.text !== undefined);
    return ended?.lastEnd.text ?? 'is still starting';
  }

  /** Starts what must run before the first client comes. Resolves after the first attempt. */
  async start(): Promise<void> {
    const { options, logger } = this.#server;
    if (options.start === 'lazy') return;
    await Promise.all(
      this.#instances.map((instance) =>
        instance.ready().catch((error: unknown) => {
          if (error instanceof GatewayError && error.reason === 'draining') return;
          const isExplained = error instanceof GatewayError;
          const why = isExplained ? { why: error.message } : { err: error };
          logger.error(why, 'server could not be started: trying again');
        }),
      ),
    );
  }

  /** Among the instances that are up, the one with the fewest calls, then with the fewest clients. */
  acquire(): Instance {
    return this.#instances.reduce((best, instance) =>
      weight(instance) < weight(best) ? instance : best,
    );
  }

  acquireExisting(): Instance {
    return this.acquire();
  }

  acquireNamed(_: unknown, name: string): Instance | undefined {
    return this.#instances.find((instance) => this.nameOf(instance) === name);
  }

  nameOf(instance: Instance): string {
    return String(this.#instances.indexOf(instance));
  }

  /**
   * For an interactive call that would have to wait: another replica without interactive calls of other
   * clients.
   */
  instanceFor({ client, frame }: Request, own: Instance): Instance {
    if (this.#instances.length < 2 || !own.hasInteractiveCallOfOthers(client)) return own;
    if (this.#server.tools.match(frame) === undefined) return own;
    const free = this.#instances.find(
      (instance) => instance.state === 'ready' && !instance.hasInteractiveCallOfOthers(client),
    );
    return free ?? own;
  }

  release(): void {
    // Shared instances are kept.
  }

  retire(): void {
    // They are kept anyway.
  }

  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    await Promise.all(this.#instances.map((instance) => instance.close(reason)));
  }
}

function weight(instance: Instance): number {
  // A server that keeps ending has no calls, so it would seem to have the least load.
  const isDown = instance.state === 'backoff' ? 1 : 0;
  return isDown * 1e12 + instance.load * 1e6 + instance.fanOut.size;
}
