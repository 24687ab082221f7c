// Everything about who may come in and how much they may ask for, built from the configuration.
import type { Drain } from '../base/drain.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { proxyRules } from '../base/proxies.ts';
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
import { type SessionEvents, type SessionLimit, SessionStore } from '../session/session-store.ts';
import type { Environment } from '../upstream/stdio/environment.ts';
import type { KeptData } from './data.ts';

/** The parts that decide about clients. */
export interface ClientAccess {
  readonly gatekeeper: Gatekeeper;
  readonly openStreams: OpenStreams;
  readonly memoryPressure: MemoryPressure;
  readonly bodies: RequestBodies;
  readonly sessions: SessionStore;
  readonly audit: AuditLog | undefined;
  /** Ends what is kept for principals that would not be let in any more. */
  sweep(): void;
  /** Who is told of each request. */
  readonly watchers: RequestWatchers;
}

export interface AccessParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly held: HeldBytes;
  /** Of the gateway. */
  readonly drain: Drain;
  /** Of the process. */
  readonly environment: Environment;
  /** What outlives the process. */
  readonly data: Pick<KeptData, 'sessionKeys' | 'sessions'>;
}

/** What of clients is kept elsewhere and ends with what they were let in with. */
export interface RevocableState {
  endOf(isGone: (principal: Principal) => boolean): void;
}

/**
 * Builds them.
 * @param suspended calls that wait for their clients
 * @throws when the audit log can't be opened
 */
export function createAccess(
  config: Config,
  suspended: RevocableState,
  { logger, metrics, held, drain, environment, data }: AccessParts,
): ClientAccess {
  const { auth, listen, limits } = config;
  const isOn = auth !== undefined;
  const audit = createAuditLog(config.audit, metrics, logger);
  const { maxPerPrincipal, ...sessionLimits } = config.sessions;
  const sessions = new SessionStore(
    {
      ...sessionLimits,
      maxPerPrincipal: isOn ? maxPerPrincipal : undefined,
    },
    sessionEvents({ audit, logger, metrics }),
    drain,
    new SessionIds(data.sessionKeys),
    data.sessions,
  );
  const loads = new PrincipalLoads(limits.callsPerPrincipal);
  const sweep = (): void => {
    if (!isOn) return;
    openStreams.sweep();
    // Whoever came with a token comes back with its next one: only keys end for good.
    const isGone = (principal: Principal): boolean => gatekeeper.isRevoked(principal);
    sessions.endOf(isGone);
    suspended.endOf(isGone);
  };
  const gatekeeper: Gatekeeper = new Gatekeeper({
    listen,
    limits,
    auth,
    loads,
    audit,
    logger,
    metrics,
    proxies: proxyRules(environment),
    changed: sweep,
  });
  const openStreams: OpenStreams = new OpenStreams({
    holds: (principal) => gatekeeper.holds(principal),
    maxPerPrincipal: isOn ? limits.streamsPerPrincipal : undefined,
  });
  metrics.insecure.set(isUnauthenticated(config) ? 1 : 0);
  return {
    gatekeeper,
    openStreams,
    memoryPressure: new MemoryPressure(),
    bodies: new RequestBodies(held, {
      maxBytes: listen.maxBody,
      allBytes: limits.bodyBytes,
    }),
    sessions,
    audit,
    sweep,
    // Without authentication all clients are one principal, so a cap of it would be one of all.
    watchers: {
      audit,
      isAuditRequired: config.audit.required,
      loads: isOn ? loads : undefined,
      held,
      broke: (failure) => logger.error({ err: failure.cause ?? failure }, 'a request failed'),
    },
  };
}

function sessionEvents({
  audit,
  logger,
  metrics,
}: Pick<AccessParts, 'logger' | 'metrics'> & {
  readonly audit: AuditLog | undefined;
}): SessionEvents {
  const line = ({
    principal,
    endpoint,
    transport,
  }: Session): Parameters<AuditLog['session']>[1] => ({
    principal,
    endpoint,
    transport,
  });
  const displaced = new RareLine<SessionLimit>((count, limit) =>
    logger.info({ limit, count }, 'unused sessions ended to make room for new ones'),
  );
  return {
    opened: (session) => audit?.session('session_opened', line(session)),
    takenUp: (session) => {
      metrics.sessionsTakenUp.inc();
      audit?.session('session_taken_up', line(session));
    },
    ended: (session) => audit?.session('session_ended', line(session)),
    displaced: (limit) => {
      metrics.sessionsDisplaced.inc({ limit });
      displaced.note(limit);
    },
  };
}
