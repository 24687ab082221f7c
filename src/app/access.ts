// Everything about who may come in and how much they may ask for, built from the configuration, and from
// another one when it is reloaded.

import type { Drain } from '../base/drain.ts';
import { type HeldBytes, heldLimits } from '../base/held-bytes.ts';
import { availableMemory } from '../base/memory.ts';
import { proxyRules } from '../base/proxies.ts';
import { isSameValue } from '../base/same-value.ts';
import type { Config } from '../config/config.ts';
import { isUnauthenticated } from '../config/exposure.ts';
import { Gatekeeper } from '../listener/gatekeeper.ts';
import { MemoryPressure } from '../listener/memory-pressure.ts';
import { OpenStreams } from '../listener/open-streams.ts';
import { RequestBodies } from '../listener/request-body.ts';
import { type AuditLog, createAuditLog } from '../observe/audit.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { PrincipalLoads } from '../observe/principal-loads.ts';
import { RareLine } from '../observe/rare-line.ts';
import type { RequestWatchers } from '../observe/request-meter.ts';
import type { Principal } from '../ports/principal.ts';
import type { Session } from '../session/session.ts';
import { SessionIds } from '../session/session-ids.ts';
import {
  type SessionEvents,
  type SessionLimit,
  type SessionLimits,
  SessionStore,
} from '../session/session-store.ts';
import type { Environment } from '../upstream/stdio/environment.ts';
import type { KeptData } from './data.ts';

export interface AccessParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly held: HeldBytes;
  /** Of the gateway. */
  readonly drain: Drain;
  /** Of the process. */
  readonly environment: Environment;
  /** What is kept across restarts. */
  readonly data: Pick<KeptData, 'sessionKeys' | 'sessions'>;
}

/** State of clients in other parts, which ends when a client is no longer accepted. */
export interface RevocableState {
  endOf(isGone: (principal: Principal) => boolean): void;
}

/** Who is told of each request: others after a reload, in the same object. */
type Watchers = { -readonly [key in keyof RequestWatchers]: RequestWatchers[key] };

/** The parts that decide about clients. */
export class ClientAccess {
  readonly gatekeeper: Gatekeeper;
  readonly openStreams: OpenStreams;
  readonly memoryPressure = new MemoryPressure();
  readonly bodies: RequestBodies;
  readonly sessions: SessionStore;
  readonly watchers: Watchers;
  readonly #parts: AccessParts;
  readonly #suspended: RevocableState;
  #config: Config;

  /**
   * @param suspended calls that wait for their clients
   * @throws when the audit log can't be opened
   */
  constructor(config: Config, suspended: RevocableState, parts: AccessParts) {
    const { auth, listen, limits } = config;
    const { logger, metrics, held, drain, environment, data } = parts;
    this.#config = config;
    this.#suspended = suspended;
    this.#parts = parts;
    this.watchers = {
      audit: createAuditLog(config.audit, metrics, logger),
      isAuditRequired: config.audit.required,
      loads: loadsOf(config, undefined),
      held,
      broke: (failure) => logger.error({ err: failure.cause ?? failure }, 'a request failed'),
    };
    this.sessions = new SessionStore(
      sessionLimits(config),
      this.#sessionEvents(),
      drain,
      new SessionIds(data.sessionKeys),
      data.sessions,
    );
    this.gatekeeper = new Gatekeeper({
      listen,
      limits,
      auth,
      watchers: this.watchers,
      logger,
      metrics,
      proxies: proxyRules(environment),
      changed: () => this.sweep(),
    });
    const maxStreams = (): number | undefined =>
      this.gatekeeper.isOn ? this.#config.limits.streamsPerPrincipal : undefined;
    this.openStreams = new OpenStreams({
      holds: (principal) => this.gatekeeper.holds(principal),
      get maxPerPrincipal() {
        return maxStreams();
      },
    });
    this.bodies = new RequestBodies(held, { maxBytes: listen.maxBody, allBytes: limits.bodyBytes });
    metrics.insecure.set(isUnauthenticated(config) ? 1 : 0);
  }

  get audit(): AuditLog | undefined {
    return this.watchers.audit;
  }

  /** Ends what belongs to principals that would no longer be accepted. */
  sweep(): void {
    if (this.gatekeeper.isOn) this.#sweep();
  }

  #sweep(): void {
    this.openStreams.sweep();
    // Whoever came with a token comes back with its next one.
    const isGone = (principal: Principal): boolean => this.gatekeeper.isRevoked(principal);
    this.sessions.endOf(isGone);
    this.#suspended.endOf(isGone);
  }

  /** Ends sessions at endpoints that their principals may not use any more. */
  sweepRights(): void {
    for (const session of [...this.sessions.all()]) {
      const { endpoint } = session.served;
      if (!this.gatekeeper.opensEndpoint(endpoint, session.principal)) this.sessions.end(session);
    }
  }

  /**
   * Makes ready for another configuration.
   * @returns puts it in force, all at once
   * @throws UserFileError when what it names can't be used; then nothing has changed
   */
  prepare(config: Config): () => void {
    const { held, metrics, logger } = this.#parts;
    const { auth, limits, listen } = config;
    const isSameAudit = isSameValue(config.audit, this.#config.audit);
    const admit = this.gatekeeper.prepare(auth, limits);
    const audit = isSameAudit ? this.audit : createAuditLog(config.audit, metrics, logger);
    return () => {
      admit();
      this.#config = config;
      held.obey(heldLimits(availableMemory(), listen.maxBody, limits.heldBytes));
      this.bodies.obey(limits.bodyBytes);
      this.sessions.obey(sessionLimits(config));
      this.watchers.loads = loadsOf(config, this.watchers.loads);
      this.watchers.isAuditRequired = config.audit.required;
      if (!isSameAudit) void this.audit?.close();
      this.watchers.audit = audit;
      metrics.insecure.set(isUnauthenticated(config) ? 1 : 0);
      this.#sweep();
    };
  }

  #sessionEvents(): SessionEvents {
    const { logger, metrics } = this.#parts;
    const displaced = new RareLine<SessionLimit>((count, limit) =>
      logger.info({ limit, count }, 'unused sessions ended to make room for new ones'),
    );
    return {
      opened: (session) => this.audit?.session('session_opened', auditLine(session)),
      takenUp: (session) => {
        metrics.sessionsTakenUp.inc();
        this.audit?.session('session_taken_up', auditLine(session));
      },
      ended: (session) => this.audit?.session('session_ended', auditLine(session)),
      displaced: (limit) => {
        metrics.sessionsDisplaced.inc({ limit });
        displaced.note(limit);
      },
    };
  }
}

/**
 * Without authentication all clients are one principal, so a limit for a principal would be one for all
 * clients.
 */
function loadsOf(
  { auth, limits }: Config,
  before: PrincipalLoads | undefined,
): PrincipalLoads | undefined {
  if (auth === undefined) return undefined;
  before?.obey(limits.callsPerPrincipal);
  return before ?? new PrincipalLoads(limits.callsPerPrincipal);
}

function sessionLimits({ auth, sessions }: Config): SessionLimits {
  const { maxPerPrincipal, ...limits } = sessions;
  return { ...limits, maxPerPrincipal: auth === undefined ? undefined : maxPerPrincipal };
}

function auditLine({
  principal,
  endpoint,
  transport,
}: Session): Parameters<AuditLog['session']>[1] {
  return { principal, endpoint, transport };
}
