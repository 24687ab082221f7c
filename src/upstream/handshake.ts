// The handshake with a server, once for each connection: finds out whether the server is modern (2026-07-28
// basic/versioning), or needs `initialize` (2025-11-25 basic/lifecycle).

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

/** How long to wait for the probe, before `initialize` is sent too. */
const PROBE_MS = 3_000;
/** Limit for what a server says about itself: each of its clients gets a copy. */
const MAX_HANDSHAKE_RESULT_BYTES = 256 * 1024;

/** What the gateway says about itself to a server. */
export interface ClientIdentity {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: unknown;
}

/** Which handshake to try. */
export interface HandshakeKind {
  readonly era: 'auto' | 'legacy' | 'modern';
  /** Whether the server must answer a request in the new session before it counts as ready. */
  readonly isChecked?: boolean;
}

/** The client identity for a shared server. */
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
 * The client identity for a private server. The server of one session sees its client unchanged; a modern
 * one, as far as the handshake allows. The server of one principal gets everything that its clients may
 * support, in the newest legacy revision.
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
 * @param declared additional capabilities
 */
export function ownEnvelope(clientIdentity: ClientIdentity, declared: JsonObject = {}): JsonObject {
  return {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientInfo]: clientIdentity.clientInfo,
    // The client's own capabilities, if there is a client: a gateway at the other end may keep a server for
    // each set of them.
    [META.clientCapabilities]: {
      ...modernCapabilities(clientIdentity.capabilities),
      ...declared,
    },
  };
}

/**
 * Does the handshake.
 * @param limitMs how long the server may take in total
 * @returns what the server said about itself
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
  // A late answer to the probe still counts: the first answer decides.
  const early = await within(PROBE_MS, probe);
  if (early !== undefined) return early;
  return await firstOf(initialize(mux, clientIdentity, options.limitMs), probe);
}

/** A server that lost one session may lose every new one too. */
async function checkSession(mux: Mux, limitMs: number): Promise<void> {
  if ((await mux.request(PING, undefined, limitMs)) !== undefined) return;
  throw new Error('it accepted a new session but then answered nothing in it');
}

async function required(probe: Promise<ServerIdentity | undefined>): Promise<ServerIdentity> {
  const identity = await probe;
  if (identity === undefined) throw new Error(`${DISCOVER} was refused; is it a modern server?`);
  return identity;
}

/** The result of the legacy handshake, unless only the modern one succeeds. */
async function firstOf(
  legacy: Promise<ServerIdentity>,
  probe: Promise<ServerIdentity | undefined>,
): Promise<ServerIdentity> {
  const modern = new Promise<ServerIdentity>((resolve, reject) => {
    // A late answer may also say that no version is supported.
    probe.then((identity) => {
      if (identity !== undefined) resolve(identity);
    }, reject);
  });
  try {
    const first = await Promise.race([modern, legacy]);
    if (first.era === 'legacy') return first;
    // A server that supports both uses the era of what it read last, which was `initialize`.
    const last = legacy.catch(() => undefined);
    return (await within(PROBE_MS, last)) ?? first;
  } catch (refusal) {
    // A modern server that started slowly refuses `initialize`. It was probed before that, so its answer to
    // the probe comes soon.
    const late = await within(PROBE_MS, probe);
    if (late === undefined) throw refusal;
    return late;
  }
}

/** The meaning of an answer to the probe; undefined: the server is not modern (docs/protocol.md#stdio). */
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
  // The server is modern, so the legacy handshake must not be tried.
  throw new Error(
    `cannot_start: it supports none of the versions of the gateway, only ${cutText(jsonText(supported))}`,
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

/** @throws Error if a server says more about itself than is read */
function checkSize({ bytes, resultStart }: Frame, method: string): void {
  // An error is logged in a few words, and sent to nobody.
  if (resultStart < 0 || bytes.length <= MAX_HANDSHAKE_RESULT_BYTES) return;
  throw new Error(
    `its answer to ${method} has ${bytes.length} bytes; ${MAX_HANDSHAKE_RESULT_BYTES} are the most: shorten its instructions`,
  );
}
