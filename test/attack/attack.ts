// What an attack is: a few declarations for the harness, and a function that runs in a process of its own.
import type { Target } from './target.ts';

/** Raw entries of a configuration file, by name. */
export type Entries = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** One attack. */
export interface Attack {
  /** As `--only` has it. */
  readonly name: string;
  /** One line for people: who sends what. */
  readonly about: string;
  /**
   * Attacks until the target says that it is over. What takes long is prepared before `target.begin()`,
   * which resolves when the measurement starts.
   * @returns what it did, in a few words: a refused attack looks harmless otherwise
   */
  readonly run: (target: Target) => Promise<string>;
  /**
   * What somebody who means no harm does meanwhile, while it is measured how the victim is served without the
   * attack. For attacks at the victim's server: it works on one call after the other, and whoever
   * uses it waits for the large calls of others, however few they are.
   */
  readonly harmless?: Attack['run'];
  /** Further servers of the gateway. */
  readonly servers?: Entries;
  /** How a remote server behaves that runs beside the gateway, which knows it as `remote`. */
  readonly remote?: string;
  /** Further keys of the configuration, in place of the usual ones. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Descriptors that the gateway may have; default: as many as this process. */
  readonly openFiles?: number;
  /** Processes that attack; default 1. */
  readonly processes?: number;
  /** Which server the victim calls; default `steady`, which nobody else calls. */
  readonly victimServer?: 'steady' | 'shared';
}
