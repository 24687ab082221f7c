// Continues a session of another process: its id contains everything that is needed. The client must be the
// one that the id was made for, at the same endpoint. The session counts like a new one.
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

/** An id that a client sent, and its credentials. */
export interface Comeback {
  readonly served: ServedEndpoint;
  readonly principal: Principal;
}

/**
 * The claims of an id whose session is not open here.
 * @returns undefined unless this client may continue the session
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
 * Takes up a session in one step: if two requests have the same id, the second one finds the session open.
 * @param writerOf makes the writer for messages that belong to no request
 * @returns the limit that is reached; undefined if the id is not valid
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
