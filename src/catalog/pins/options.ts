// `pin:` of an endpoint or a server (docs/pinning.md): whether tools are held to the definitions that
// somebody accepted with `sluice pin`.
import { oneOf } from '../../base/options.ts';

/** What becomes of a tool whose definition nobody accepted. */
export type PinMode = 'off' | 'warn' | 'enforce';

/** `pin:` */
export const pinSchema = oneOf(['off', 'warn', 'enforce']).prefault('off').meta({
  description:
    'Compare tools with the definitions that were accepted with `sluice pin`. `warn` logs new and changed tools, `enforce` hides them.',
});
