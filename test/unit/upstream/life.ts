// An instance that is ready, over a mux that a test plays.

import type { Mux } from '../../../src/mux/mux.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { Lifecycle } from '../../../src/upstream/lifecycle.ts';

/** Its life. */
export function lifeOf(mux: object): Lifecycle {
  const logger = createLogger({ level: 'fatal', messages: false });
  const life = new Lifecycle({ common: { exposesDetails: true } }, logger, () => undefined);
  life.transition('ready');
  life.mux = mux as Mux;
  return life;
}
