// What a user may say about the catalog of one server, besides how the server is run: what is shown
// of it, and how far it is trusted.
import { type KeyOptions, oneOf } from '../base/options.ts';
import { shapingKeys } from './shaping-options.ts';

const MODES = ['off', 'warn', 'enforce'] as const;

/** Keys of servers and of endpoints (docs/pinning.md, docs/validation.md). */
export const trustKeys = {
  pin: oneOf(MODES).prefault('off').meta({
    description:
      'Compare tools with the definitions that were accepted with `sluice pin`. `warn` logs new and changed tools, `enforce` hides them.',
  }),
  validateArguments: oneOf(MODES).prefault('off').meta({
    description:
      "Check the arguments of tool calls against the tool's input schema. `warn` logs calls with invalid arguments, `enforce` refuses them.",
  }),
};

/** Keys of an entry under `servers:`. */
export const catalogKeys = { ...shapingKeys, ...trustKeys };

/** What is said about the catalog of a server. */
export type CatalogOptions = KeyOptions<typeof catalogKeys>;

/** What becomes of what is not as it should be. */
export type TrustMode = (typeof MODES)[number];

/** The stricter of two modes: an endpoint adds to what the server's entry says. */
export function strictest(a: TrustMode, b: TrustMode): TrustMode {
  return MODES.indexOf(a) > MODES.indexOf(b) ? a : b;
}

/** Whether nothing is said, so that clients may have the server as it is. */
export function isAsItIs({
  tools,
  prompts,
  resources,
  pin,
  validateArguments,
}: CatalogOptions): boolean {
  const isShaped = [tools, prompts, resources].some((one) => one !== undefined);
  return !isShaped && pin === 'off' && validateArguments === 'off';
}
