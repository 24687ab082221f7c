// `initialize` toward a server: sent once per life of a connection, however many clients there are
// (2025-11-25 basic/lifecycle).
import { isObject, parseResult, parseSpan } from '../jsonrpc/parse.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import { INITIALIZE, INITIALIZED } from '../mcp/methods.ts';
import { NEWEST_LEGACY } from '../mcp/versions.ts';
import type { Mux } from '../mux/mux.ts';
import type { ServerIdentity } from '../ports/seat.ts';

/** What the gateway says of itself to a server. */
export interface Introduction {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: unknown;
}

/** What a shared server is told. */
export function gatewayIntroduction(
  capabilities: ClientCapabilities,
  gatewayVersion: string,
): Introduction {
  return {
    version: NEWEST_LEGACY,
    capabilities,
    clientInfo: { name: 'sluice', title: 'Sluice', version: gatewayVersion },
  };
}

/**
 * Runs the handshake.
 * @param limitMs how long the server may take
 * @returns what the server said of itself
 * @throws Error that says what was wrong
 */
export async function handshake(
  mux: Mux,
  introduction: Introduction,
  limitMs: number,
): Promise<ServerIdentity> {
  const answer = await mux.request(
    INITIALIZE,
    {
      protocolVersion: introduction.version,
      capabilities: introduction.capabilities,
      clientInfo: introduction.clientInfo,
    },
    limitMs,
  );
  if (answer === undefined) throw new Error(`no answer to initialize within ${limitMs} ms`);
  const result = parseResult(answer);
  if (result === undefined) {
    const error = parseSpan(answer.bytes, answer.errorStart, answer.errorEnd);
    throw new Error(`initialize was refused: ${JSON.stringify(error)}`);
  }
  mux.notify(callMessage(INITIALIZED));
  const { capabilities, protocolVersion } = result;
  return {
    initializeResult: result,
    capabilities: isObject(capabilities) ? capabilities : {},
    version: typeof protocolVersion === 'string' ? protocolVersion : introduction.version,
  };
}
