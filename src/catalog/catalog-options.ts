// Options about the catalog of one server: what is shown, and how far the server is trusted.
import { type KeyOptions, oneOf } from '../base/options.ts';
import { shapingKeys } from './shaping-options.ts';

const MODES = ['off', 'warn', 'enforce'] as const;

/** Keys of both servers and endpoints (docs/pinning.md, docs/validation.md). */
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

/** The catalog options of a server. */
export type CatalogOptions = KeyOptions<typeof catalogKeys>;

/** What to do with something that is not as it should be. */
export type TrustMode = (typeof MODES)[number];

/** The stricter of two modes. An endpoint can only be stricter than the server's entry. */
export function strictest(a: TrustMode, b: TrustMode): TrustMode {
  return MODES.indexOf(a) > MODES.indexOf(b) ? a : b;
}

/** Whether there are no such options, so that clients can use the server directly. */
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
