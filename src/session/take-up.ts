// A session goes on in a process that does not have it: its id says all that is needed. Whoever brings the id
// must be who it was made for, at the endpoint that it was made for; it is counted as a new session is.
import { monotonicMs, wallClockMs } from '../base/clock.ts';
import { parsedCost } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import type { Principal } from '../ports/principal.ts';
import type { NotificationWriter } from '../ports/response-writer.ts';
import { UNKNOWN_CLIENT } from './handshake.ts';
import { LateUpstreamSession } from './late-upstream-session.ts';
import type { ServedEndpoint } from './served-endpoint.ts';
import { type ClientProfile, Session } from './session.ts';
import { credentialsDigest, type SessionClaims } from './session-ids.ts';
import type { NoRoom, SessionStore } from './session-store.ts';

/** Where an id came in, and with whose credentials. */
export interface Comeback {
  readonly served: ServedEndpoint;
  readonly principal: Principal;
}

/**
 * What the id of a session says that is not open here.
 * @returns undefined unless whoever brings it may go on with the session
 */
export function claimsFor(
  id: string,
  { served, principal }: Comeback,
  store: SessionStore,
): SessionClaims | undefined {
  const claims = store.claimsOf(id);
  if (claims?.endpoint !== served.name || claims.principal !== principal.key) return undefined;
  const { endpoint } = served;
  const credentials = credentialsDigest(endpoint.credentialFingerprint(principal));
  return claims.credentials === credentials ? claims : undefined;
}

/**
 * Takes a session up, all in one step: of two requests with one id the second finds it open.
 * @param writerOf makes where messages are written that belong to no request
 * @returns where there are too many; undefined when the id is not good for that
 */
export function takeUp(
  id: string,
  comeback: Comeback,
  store: SessionStore,
  writerOf: (version: string) => NotificationWriter,
): Session | NoRoom | undefined {
  const { served, principal } = comeback;
  const claims = served.isGone ? undefined : claimsFor(id, comeback, store);
  if (claims === undefined) return undefined;
  const { endpoint, meter } = served;
  const profile = profileOf(claims);
  if (!meter.heldFor(principal).hasRoom(profile.heldBytes)) {
    meter.refusedForRoom();
    return 'held';
  }
  const refusal = store.reserve(principal);
  if (refusal !== undefined) return refusal;
  try {
    const ageMs = Math.max(wallClockMs() - claims.openedAtMs, 0);
    const session = new Session({
      id,
      transport: 'streamable-http',
      served,
      principal,
      profile,
      notificationWriter: writerOf(claims.version),
      hasStreamPerRequest: true,
      isPlain: false,
      limits: store,
      record: store.record.isKept ? store.record : undefined,
      openedMs: monotonicMs() - ageMs,
    });
    const upstreamSession = new LateUpstreamSession(session, store.record.wantedBy(id));
    session.link(upstreamSession);
    store.add(session, true);
    if (endpoint.isShared) upstreamSession.open();
    return session;
  } finally {
    store.release(principal);
  }
}

function profileOf({ version, capabilities }: SessionClaims): ClientProfile {
  const text = jsonBytes(capabilities);
  const heldBytes = parsedCost(text, 0, text.length);
  return { version, capabilities, info: UNKNOWN_CLIENT, heldBytes };
}
