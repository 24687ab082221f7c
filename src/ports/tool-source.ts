// Where to get the tools of a server. The list is read only once for each state of the server, for all users.
import type { Lease } from './lease.ts';

/** A server's tools as it sent them. A new object whenever they may have changed. */
export type ToolTexts = readonly { readonly text: Buffer }[];

/** The tools of all servers. */
export interface ToolSource {
  /** The current tools; undefined if they must be read first. */
  current(lease: Lease): ToolTexts | undefined;
  /**
   * Reads them from the server. Simultaneous readers share one request. A slow server is waited for only
   * once; afterwards calls go on without the list.
   * @returns undefined if the server is not available or does not answer
   */
  read(lease: Lease): Promise<ToolTexts | undefined>;
}
