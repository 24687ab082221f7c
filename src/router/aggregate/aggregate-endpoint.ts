// A merged endpoint. Each legacy session gets an upstream session; modern requests are served one by one.
import { Composer } from '../../catalog/composer.ts';
import type { EndpointOptions, WaitLimits } from '../../catalog/endpoint-options.ts';
import type { NamingOptions } from '../../catalog/names.ts';
import type { ArgumentValidators } from '../../catalog/validation/argument-validators.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Endpoint, UpstreamSession } from '../../ports/dispatcher.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { AccessPolicy, Principal } from '../../ports/principal.ts';
import type { Request } from '../../ports/request.ts';
import type { ModernState } from '../../translate/modern-dispatcher.ts';
import { carriedBy } from '../carried-session.ts';
import { AggregateRouter } from './aggregate-router.ts';
import { AggregateUpstreamSession } from './aggregate-upstream-session.ts';
import { ModernHead } from './answers.ts';
import { type AggregatedServer, Member } from './member.ts';
import { MemberLeases } from './member-leases.ts';
import { ModernService } from './modern-service.ts';
import { SearchService } from './search-service.ts';
import { ToolCalls } from './tool-calls.ts';
import { Visibility } from './visibility.ts';

/** The servers of an endpoint, and how they are shown. */
export interface AggregateOptions {
  readonly name: string;
  readonly naming: NamingOptions;
  readonly toolList: EndpointOptions['toolList'];
  readonly waits: WaitLimits;
}

/** What an endpoint needs from the gateway. */
export interface AggregateContext {
  /** Undefined: everything is allowed. */
  readonly policy: AccessPolicy | undefined;
  readonly state: ModernState;
  readonly validators: ArgumentValidators;
  readonly logger: Logger;
  readonly gatewayVersion: string;
}

/** Several servers under one path. */
export class AggregateEndpoint implements Endpoint {
  readonly name: string;
  /** For metrics and the audit log: the name of the only server, or a name for several. */
  readonly server: string;
  readonly servers: readonly string[];
  readonly protocol = 'mcp';
  readonly isShared: boolean;
  readonly #router: AggregateRouter;
  readonly #modern: ModernService;

  constructor(
    options: AggregateOptions,
    servers: readonly AggregatedServer[],
    context: AggregateContext,
  ) {
    this.name = options.name;
    this.servers = servers.map(({ backend }) => backend.name);
    this.isShared = servers.every(({ isShared }) => isShared);
    this.server = (this.servers.length === 1 ? this.servers[0] : undefined) ?? '*';
    const members = servers.map(
      (server, index) => new Member(options, index, server, context.state),
    );

    this.#router = new AggregateRouter({
      name: options.name,
      members,
      composer: new Composer(
        members.map(({ catalog }) => catalog),
        options.naming,
        context.logger,
      ),
      waits: options.waits,
      visibility: new Visibility(context.policy, this.servers),
      logger: context.logger,
      gatewayVersion: context.gatewayVersion,
      calls: new ToolCalls(context.validators, context.logger),
      search: options.toolList === 'search' ? new SearchService(this.servers) : undefined,
      state: context.state,
      modernHead: new ModernHead(context.gatewayVersion),
    });
    this.#modern = new ModernService(this.#router);
  }

  credentialFingerprint(principal: Principal): string {
    return this.#router.parts.members
      .map(({ backend }) => backend.credentialFingerprint(principal))
      .join(' ');
  }

  async open(client: Downstream): Promise<UpstreamSession> {
    const memberLeases = new MemberLeases(client, this.#router.parts);
    try {
      await memberLeases.ready();
    } catch (error) {
      memberLeases.leave();
      throw error;
    }
    return new AggregateUpstreamSession(memberLeases, this.#router);
  }

  async takeOver(client: Downstream, before: UpstreamSession): Promise<UpstreamSession> {
    const carried = carriedBy(before);
    const memberLeases = new MemberLeases(client, this.#router.parts, undefined, carried);
    await memberLeases.goOnWith(carried);
    return new AggregateUpstreamSession(memberLeases, this.#router);
  }

  serve(request: Request): void {
    this.#modern.serve(request);
  }
}
