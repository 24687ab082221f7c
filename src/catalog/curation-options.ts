// What a user may say about the catalog of one server, besides how the server is run: what is shown
// of it, and how far it is trusted.
import type { PinMode } from './pins/options.ts';
import { pinSchema } from './pins/options.ts';
import { type ShapingOptions, shapingKeys } from './shaping-options.ts';
import { type ValidationMode, validateArgumentsSchema } from './validation/options.ts';

/** Keys of an entry under `servers:`. */
export const curationKeys = {
  ...shapingKeys,
  pin: pinSchema,
  validateArguments: validateArgumentsSchema,
};

/** What is said about the catalog of a server. */
export interface Curation extends ShapingOptions {
  readonly pin: PinMode;
  readonly validateArguments: ValidationMode;
}

const MODES = ['off', 'warn', 'enforce'] as const;

/** The stricter of two modes: an endpoint adds to what the server's entry says. */
export function strictest(a: (typeof MODES)[number], b: (typeof MODES)[number]): PinMode {
  return MODES.indexOf(a) > MODES.indexOf(b) ? a : b;
}

/** Whether nothing is said, so that clients may have the server as it is. */
export function isAsItIs({ tools, prompts, resources, pin, validateArguments }: Curation): boolean {
  const isShaped = [tools, prompts, resources].some((one) => one !== undefined);
  return !isShaped && pin === 'off' && validateArguments === 'off';
}
