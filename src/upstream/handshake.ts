// The handshake with a server, once per life of a connection however many clients there are: finds
// out whether the server is of the stateless era (2026-07-28 basic/versioning) or wants `initialize`
// (2025-11-25 basic/lifecycle).

import { monotonicMs, within } from '../base/clock.ts';
import { cutText } from '../base/cut-text.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, type JsonObject, parseError, parseResult } from '../jsonrpc/parse.ts';
import { callMessage, jsonText } from '../jsonrpc/serialize.ts';
import {
  type ClientCapabilities,
  legacyCapabilities,
  modernCapabilities,
  principalClientCapabilities,
} from '../mcp/capabilities.ts';
import { UNSUPPORTED_VERSION } from '../mcp/errors.ts';
import { META } from '../mcp/meta.ts';
import { INITIALIZE, INITIALIZED, PING } from '../mcp/methods.ts';
import { DISCOVER } from '../mcp/modern-methods.ts';
import { isLegacyVersion, MODERN_VERSION, NEWEST_LEGACY } from '../mcp/versions.ts';
import type { Mux } from '../mux/mux.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { ServerIdentity } from '../ports/lease.ts';

/** How long a silent server is waited for before it is also asked in the old way. */
const PROBE_MS = 3_000;
/** What a server may say of itself: each of its clients is told, so that one answer costs as many times. */
const MAX_HANDSHAKE_RESULT_BYTES = 256 * 1024;

/** What the gateway says of itself to a server. */
export interface ClientIdentity {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: unknown;
}

/** Which handshake to try. */
export interface HandshakeKind {
  readonly era: 'auto' | 'legacy' | 'modern';
  /** Whether the server has to answer something in the new session before it counts as ready. */
  readonly isChecked?: boolean;
}

/** What a shared server is told. */
export function gatewayIdentity(
  capabilities: ClientCapabilities,
  gatewayVersion: string,
): ClientIdentity {
  return {
    version: NEWEST_LEGACY,
    capabilities,
    clientInfo: { name: 'sluice', title: 'Sluice', version: gatewayVersion },
  };
}

/**
 * What a private server is told. That of one session sees its client as it is; a modern one as far as the handshake
 * can say. That of one principal is told what all of its clients may be, by the newest revision.
 * @param isOnly whether it is the only client
 */
export function identityOf(client: Downstream, isOnly: boolean): ClientIdentity {
  const isLegacy = isLegacyVersion(client.version);
  const own = isLegacy ? client.capabilities : legacyCapabilities(client.capabilities);
  return {
    version: isLegacy && isOnly ? client.version : NEWEST_LEGACY,
    capabilities: isOnly ? own : principalClientCapabilities(own),
    clientInfo: client.info ?? { name: 'unknown', version: '0' },
  };
}

/**
 * The envelope of the gateway's own requests to a modern server.
 * @param declared further capabilities
 */
export function ownEnvelope(clientIdentity: ClientIdentity, declared: JsonObject = {}): JsonObject {
  return {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientInfo]: clientIdentity.clientInfo,
    // The client's own, where there is one: a gateway at the other end may keep a server for each.
    [META.clientCapabilities]: {
      ...modernCapabilities(clientIdentity.capabilities),
      ...declared,
    },
  };
}

/**
 * Runs the handshake.
 * @param limitMs how long the server may take in all
 * @returns what the server said of itself
 * @throws Error that says what was wrong
 */
export async function handshake(
  mux: Mux,
  clientIdentity: ClientIdentity,
  options: HandshakeKind & { readonly limitMs: number },
): Promise<ServerIdentity> {
  const identity = await agree(mux, clientIdentity, options);
  if (options.isChecked && identity.era === 'legacy') await checkSession(mux, options.limitMs);
  return identity;
}

async function agree(
  mux: Mux,
  clientIdentity: ClientIdentity,
  options: HandshakeKind & { readonly limitMs: number },
): Promise<ServerIdentity> {
  if (options.era === 'legacy') return await initialize(mux, clientIdentity, options.limitMs);
  const params = { _meta: ownEnvelope(clientIdentity) };
  const probe = mux.request(DISCOVER, params, options.limitMs).then(readDiscover);
  if (options.era === 'modern') return await required(probe);
  // A probe that is answered late still counts: what comes first decides.
  const early = await within(PROBE_MS, probe);
  if (early !== undefined) return early;
  return await firstOf(initialize(mux, clientIdentity, options.limitMs), probe);
}

/** A server that lost one session may lose each as soon as it has agreed to it. */
async function checkSession(mux: Mux, limitMs: number): Promise<void> {
  if ((await mux.request(PING, undefined, limitMs)) !== undefined) return;
  throw new Error('it agreed to a new session and then answered nothing in it');
}

async function required(probe: Promise<ServerIdentity | undefined>): Promise<ServerIdentity> {
  const identity = await probe;
  if (identity === undefined) throw new Error(`${DISCOVER} was refused; is it a modern server?`);
  return identity;
}

/** The legacy handshake's outcome, unless only the modern one succeeds. */
async function firstOf(
  legacy: Promise<ServerIdentity>,
  probe: Promise<ServerIdentity | undefined>,
): Promise<ServerIdentity> {
  const modern = new Promise<ServerIdentity>((resolve, reject) => {
    // It may say late, too, that it serves none of our versions.
    probe.then((identity) => {
      if (identity !== undefined) resolve(identity);
    }, reject);
  });
  try {
    const first = await Promise.race([modern, legacy]);
    if (first.era === 'legacy') return first;
    // One that speaks both goes by what it read last, which was `initialize`.
    const last = legacy.catch(() => undefined);
    return (await within(PROBE_MS, last)) ?? first;
  } catch (refusal) {
    // A modern server that was slow to start refuses the old handshake. It was asked the other thing
    // before that, so its answer to it is not far.
    const late = await within(PROBE_MS, probe);
    if (late === undefined) throw refusal;
    return late;
  }
}

/** What an answer to the probe says; undefined: the server is not modern (docs/protocol.md#stdio). */
function readDiscover(answer: Frame | undefined): ServerIdentity | undefined {
  if (answer === undefined) return undefined;
  checkSize(answer, DISCOVER);
  const result = parseResult(answer);
  if (result !== undefined && Array.isArray(result['supportedVersions'])) {
    return modernIdentity(result);
  }
  const error = parseError(answer);
  if (error?.['code'] !== UNSUPPORTED_VERSION) return undefined;
  const { data } = error;
  const supported = isObject(data) ? data['supported'] : undefined;
  // It is modern: the instance must not try the old handshake.
  throw new Error(
    `cannot_start: it serves none of our versions, only ${cutText(jsonText(supported))}`,
  );
}

function modernIdentity(result: JsonObject): ServerIdentity {
  const { capabilities } = result;
  return {
    era: 'modern',
    handshakeResult: result,
    capabilities: isObject(capabilities) ? capabilities : {},
    version: MODERN_VERSION,
  };
}

async function initialize(
  mux: Mux,
  clientIdentity: ClientIdentity,
  limitMs: number,
): Promise<ServerIdentity> {
  const startedMs = monotonicMs();
  const answer = await mux.request(
    INITIALIZE,
    {
      protocolVersion: clientIdentity.version,
      capabilities: clientIdentity.capabilities,
      clientInfo: clientIdentity.clientInfo,
    },
    limitMs,
  );
  if (answer === undefined) {
    const isLate = monotonicMs() - startedMs >= limitMs;
    throw new Error(
      isLate
        ? `no answer to initialize within ${limitMs} ms`
        : 'no valid answer to initialize: is it an MCP server?',
    );
  }
  checkSize(answer, INITIALIZE);
  const result = parseResult(answer);
  if (result === undefined) {
    const error = parseError(answer);
    throw new Error(`initialize was refused: ${cutText(jsonText(error))}`);
  }
  mux.notify(callMessage(INITIALIZED));
  const { capabilities, protocolVersion } = result;
  return {
    era: 'legacy',
    handshakeResult: result,
    capabilities: isObject(capabilities) ? capabilities : {},
    version: typeof protocolVersion === 'string' ? protocolVersion : clientIdentity.version,
  };
}

/** @throws Error when a server says more of itself than is read */
function checkSize({ bytes, resultStart }: Frame, method: string): void {
  // A refusal is told in a few words, and to nobody but the log.
  if (resultStart < 0 || bytes.length <= MAX_HANDSHAKE_RESULT_BYTES) return;
  throw new Error(
    `its answer to ${method} has ${bytes.length} bytes; ${MAX_HANDSHAKE_RESULT_BYTES} are the most: shorten its instructions`,
  );
}
