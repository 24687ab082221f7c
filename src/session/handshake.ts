// `initialize` from a client: what it agreed on, and the session that it opens. Never forwarded:
// answered from what the server said once (docs/protocol.md#handshake).

import { wallClockMs } from '../base/clock.ts';
import { lengthRule, TEXT_LIMITS } from '../base/text-limits.ts';
import { invalidParams, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parsedCost, parseParams } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { negotiate } from '../mcp/versions.ts';
import type { RequestMeter } from '../observe/request-meter.ts';
import type { Endpoint, UpstreamSession } from '../ports/dispatcher.ts';
import type { Principal } from '../ports/principal.ts';
import type { NotificationWriter } from '../ports/response-writer.ts';
import { type ClientProfile, Session } from './session.ts';
import { credentialsDigest, newSessionId } from './session-ids.ts';
import type { NoRoom, SessionStore } from './session-store.ts';

/** Where and for whom a session is opened. */
export interface SessionOrigin {
  readonly transport: string;
  readonly endpoint: Endpoint;
  readonly principal: Principal;
  readonly notificationWriter: NotificationWriter;
  readonly meter: RequestMeter;
  readonly hasStreamPerRequest: boolean;
  /** Whether its client knows its id, and can come back with it. */
  readonly hasId?: boolean;
}

/** A session, and what `initialize` is answered with; or where there is no room for one. */
export type OpenOutcome =
  | { readonly session: Session; readonly result: Buffer }
  | { readonly refusal: NoRoom };

/** What a client that never speaks MCP's handshake is: plain JSON-RPC has no capabilities. */
export const PLAIN_PROFILE: ClientProfile = {
  version: '',
  capabilities: {},
  info: undefined,
  heldBytes: 0,
};

/** For servers, which ask for an introduction. */
export const UNKNOWN_CLIENT = { name: 'unknown', version: '0' };

/** Why an `initialize` can't be taken; undefined: it can. */
export function profileFault({ bytes }: Frame): WireError | undefined {
  if (bytes.length <= TEXT_LIMITS.profile) return undefined;
  return invalidParams(`${lengthRule('initialize', TEXT_LIMITS.profile)}.`);
}

/** What a client says of itself in an `initialize` that can be taken. */
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
 * @throws GatewayError when the server can't be had; no session exists then
 */
export async function openSession(
  profile: ClientProfile,
  origin: SessionOrigin,
  store: SessionStore,
): Promise<OpenOutcome> {
  const { principal } = origin;
  const { meter } = origin;
  if (!meter.heldFor(principal).hasRoom(profile.heldBytes)) {
    meter.refusedForRoom();
    return { refusal: 'held' };
  }
  const refusal = store.reserve(principal);
  if (refusal !== undefined) return { refusal };
  try {
    const { endpoint, hasId, ...rest } = origin;
    const session = new Session({
      id: hasId === true ? sealedId(profile, origin, store) : newSessionId(),
      endpoint: endpoint.name,
      credentialFingerprint: (other) => endpoint.credentialFingerprint(other),
      isPlain: endpoint.protocol === 'jsonrpc',
      maxInFlight: store.maxInFlight,
      record: hasId === true && store.record.isKept ? store.record : undefined,
      drain: store.drain,
      profile,
      ...rest,
    });
    const upstreamSession = await attached(session, endpoint, meter);
    session.upstreamSession = upstreamSession;
    store.add(session);
    const result = { ...upstreamSession.endpointInfo.result, protocolVersion: session.version };
    return { session, result: jsonBytes(result) };
  } finally {
    store.release(principal);
  }
}

function sealedId(
  { version, capabilities }: ClientProfile,
  { endpoint, principal }: SessionOrigin,
  { ids }: SessionStore,
): string {
  return ids.make({
    version,
    capabilities,
    endpoint: endpoint.name,
    principal: principal.key,
    credentials: credentialsDigest(endpoint.credentialFingerprint(principal)),
    openedAtMs: wallClockMs(),
  });
}

/**
 * Links a session to what is behind its endpoint; where that fails, its client is told on the same
 * notification writer.
 */
async function attached(
  session: Session,
  endpoint: Endpoint,
  { refusal }: RequestMeter,
): Promise<UpstreamSession> {
  try {
    if (refusal !== undefined) throw refusal;
    return await endpoint.open(session);
  } catch (error) {
    session.giveRoomBack();
    throw error;
  }
}
