// Whether a tool has the accepted definition. A model trusts definitions of tools, so a server that changes
// one without notice may be attacking the model.
import { digestOf, nameOf } from './definition.ts';
import type { Lock } from './lock-file.ts';

/** The result of the comparison. */
export type PinVerdict =
  /** The definition is accepted. */
  | 'pinned'
  /** No tool with this name was accepted for this server. */
  | 'new'
  /** Another definition was accepted. */
  | 'changed';

/** The accepted definitions of all servers. */
export class Pins {
  readonly #lock: Lock;

  constructor(lock: Lock) {
    this.#lock = lock;
  }

  /**
   * Compares a tool with its accepted definition. Takes some microseconds, so it is used for lists, not for
   * calls.
   * @param server its configured name
   * @param tool an entry of the server's own `tools/list`, before shaping
   */
  verdict(server: string, tool: Buffer): PinVerdict {
    const name = nameOf(tool);
    const accepted = name === undefined ? undefined : this.#lock.get(server)?.get(name);
    if (accepted === undefined) return 'new';
    return accepted.digest === digestOf(tool) ? 'pinned' : 'changed';
  }
}
