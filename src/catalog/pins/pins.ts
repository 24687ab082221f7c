// Whether a tool is the one that somebody accepted. A model trusts what a tool's definition says, so a
// server that changes one silently may be attacking the model.
import { digestOf, nameOf } from './definition.ts';
import type { Lock } from './lock-file.ts';

/** What is known of a tool's definition. */
export type PinVerdict =
  /** It is the accepted one. */
  | 'pinned'
  /** No tool of this name was accepted for this server. */
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
   * Compares a tool with what was accepted. Takes some microseconds: meant for lists, not for calls.
   * @param server its configured name
   * @param tool an entry of the server's own `tools/list`, before anything is shaped
   */
  verdict(server: string, tool: Buffer): PinVerdict {
    const name = nameOf(tool);
    const accepted = name === undefined ? undefined : this.#lock.get(server)?.get(name);
    if (accepted === undefined) return 'new';
    return accepted.digest === digestOf(tool) ? 'pinned' : 'changed';
  }
}
