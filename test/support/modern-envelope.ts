/** The envelope that every request of the stateless era carries. */
import type { Json } from './wire-message.ts';

export interface EnvelopeOptions {
  readonly version?: string;
  readonly capabilities?: Json;
  /** Further members of `_meta`. */
  readonly meta?: Json;
}

/** `params` with an envelope. */
export function enveloped(params: Json = {}, options: EnvelopeOptions = {}): Json {
  const prefix = 'io.modelcontextprotocol/';
  return {
    ...params,
    _meta: {
      [`${prefix}protocolVersion`]: options.version ?? '2026-07-28',
      [`${prefix}clientInfo`]: { name: 'test-client', version: '1.0.0' },
      [`${prefix}clientCapabilities`]: options.capabilities ?? {},
      ...options.meta,
    },
  };
}
