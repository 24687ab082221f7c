// `initialize` of a client: the negotiated version, and the session that it opens. It is never forwarded, but
// answered from what the server said in its own handshake (docs/protocol.md#handshake).

import { wallClockMs } from '../base/clock.ts';
import { lengthRule, TEXT_LIMITS } from '../base/text-limits.ts';
import { invalidParams, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parsedCost, parseParams } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { negotiate } from '../mcp/versions.ts';
import type { UpstreamSession } from '../ports/dispatcher.ts';
import type { Principal } from '../ports/principal.ts';
import type { NotificationWriter } from '../ports/response-writer.ts';
import type { ServedEndpoint } from './served-endpoint.ts';
import { type ClientProfile, Session } from './session.ts';
import { credentialsDigest, newSessionId } from './session-ids.ts';
import type { NoRoom, SessionStore } from './session-store.ts';

/** Where a session is opened, and for which client. */
export interface SessionOrigin {
  readonly transport: string;
  readonly served: ServedEndpoint;
  readonly principal: Principal;
  readonly notificationWriter: NotificationWriter;
  readonly hasStreamPerRequest: boolean;
  /** Whether its client knows its id, and can return with it. */
  readonly hasId?: boolean;
}

/** A session and the result of `initialize`; or the limit that is reached. */
export type OpenOutcome =
  | { readonly session: Session; readonly result: Buffer }
  | { readonly refusal: NoRoom };

/** For a client without MCP's handshake: plain JSON-RPC has no capabilities. */
export const PLAIN_PROFILE: ClientProfile = {
  version: '',
  capabilities: {},
  info: undefined,
  heldBytes: 0,
};

/** For servers, which require this information. */
export const UNKNOWN_CLIENT = { name: 'unknown', version: '0' };

/** Why an `initialize` is refused; undefined if it is fine. */
export function profileFault({ bytes }: Frame): WireError | undefined {
  if (bytes.length <= TEXT_LIMITS.profile) return undefined;
  return invalidParams(`${lengthRule('initialize', TEXT_LIMITS.profile)}.`);
}

/** What a client says about itself in a valid `initialize`. */
export function profileOf(initialize: Frame): ClientProfile {
  const { protocolVersion, capabilities, clientInfo } = parseParams(initialize);
  return {
    version: negotiate(protocolVersion),
    capabilities: isObject(capabilities) ? capabilities : {},
    info: isObject(clientInfo) ? clientInfo : UNKNOWN_CLIENT,
    heldBytes: parsedCost(initialize.bytes, initialize.paramsStart, initialize.paramsEnd),
  };
}

/**
 * Opens a session, unless there are too many.
 * @throws GatewayError if the server is not available; then there is no session
 */
export async function openSession(
  profile: ClientProfile,
  origin: SessionOrigin,
  store: SessionStore,
): Promise<OpenOutcome> {
  const { principal, served } = origin;
  const { meter } = served;
  if (!meter.heldFor(principal).hasRoom(profile.heldBytes)) {
    meter.refusedForRoom();
    return { refusal: 'held' };
  }
  const refusal = store.reserve(principal);
  if (refusal !== undefined) return { refusal };
  try {
    const { hasId, ...rest } = origin;
    const session = new Session({
      id: hasId === true ? sealedId(profile, origin, store) : newSessionId(),
      isPlain: served.endpoint.protocol === 'jsonrpc',
      limits: store,
      record: hasId === true && store.record.isKept ? store.record : undefined,
      profile,
      ...rest,
    });
    const upstreamSession = await attached(session);
    store.add(session);
    await followed(session, store);
    const result = { ...upstreamSession.endpointInfo.result, protocolVersion: session.version };
    return { session, result: jsonBytes(result) };
  } finally {
    store.release(principal);
  }
}

function sealedId(
  { version, capabilities }: ClientProfile,
  { served, principal }: SessionOrigin,
  { ids }: SessionStore,
): string {
  return ids.make({
    version,
    capabilities,
    endpoint: served.name,
    principal: principal.key,
    credentials: credentialsDigest(served.endpoint.credentialFingerprint(principal)),
    openedAtMs: wallClockMs(),
  });
}

/** The endpoint may have been replaced while its servers were waited for. */
async function followed(session: Session, store: SessionStore): Promise<void> {
  try {
    await session.follow();
  } catch (error) {
    store.end(session);
    throw error;
  }
}

/**
 * Opens the servers of the endpoint for the session. If that fails, the client gets the error on the same
 * notification writer.
 */
async function attached(session: Session): Promise<UpstreamSession> {
  const { served } = session;
  const { endpoint, meter } = served;
  try {
    const { refusal } = meter;
    if (refusal !== undefined) throw refusal;
    const upstreamSession = await endpoint.open(session);
    session.link(upstreamSession, endpoint);
    if (!served.isGone) return upstreamSession;
    upstreamSession.close();
    throw served.refusal;
  } catch (error) {
    session.giveRoomBack();
    throw error;
  }
}
