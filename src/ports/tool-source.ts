// Where the tools of a server are read from: its list is read once for each state that it is in,
// whoever wants to know something of it.
import type { Lease } from './lease.ts';

/** A server's tools as it wrote them; another object when they may be others. */
export type ToolTexts = readonly { readonly text: Buffer }[];

/** The tools of all servers. */
export interface ToolSource {
  /** The tools as they are now; undefined when they have to be read first. */
  current(lease: Lease): ToolTexts | undefined;
  /**
   * Reads them from the server. Several readers at once are one, and a server that does not give them
   * soon is waited for once: from then on it is asked beside the calls.
   * @returns undefined when the server can't be had, or does not answer
   */
  read(lease: Lease): Promise<ToolTexts | undefined>;
}
