// `pin:` of an endpoint or a server (docs/pinning.md): whether tools are held to the definitions that
// somebody accepted with `sluice pin`.
import { oneOf } from '../../base/options.ts';

/** What becomes of a tool whose definition nobody accepted. */
export type PinMode = 'off' | 'warn' | 'enforce';

/** `pin:` */
export const pinSchema = oneOf(['off', 'warn', 'enforce']).prefault('off').meta({
  description:
    'Hold tools to the definitions accepted with `sluice pin`: not at all, or log (`warn`) or withhold (`enforce`) new and changed ones.',
});
