// The lists of all servers, one reader for each: the catalog's, and that of everybody who wants to
// know something of a server's tools.
import { TOOLS_LIST } from '../mcp/methods.ts';
import type { Logger } from '../observe/logger.ts';
import type { Seat } from '../ports/seat.ts';
import type { ToolSource, ToolTexts } from '../ports/tool-source.ts';
import { ServerLists } from './server-lists.ts';

/** Lists by server. */
export class AllLists implements ToolSource {
  readonly #logger: Logger;
  readonly #byServer = new Map<string, ServerLists>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The lists of a server of the configuration. */
  of(server: string): ServerLists {
    let lists = this.#byServer.get(server);
    if (lists === undefined) {
      lists = new ServerLists(server, this.#logger);
      this.#byServer.set(server, lists);
    }
    return lists;
  }

  current(seat: Seat): ToolTexts | undefined {
    return this.of(seat.server).current(seat, TOOLS_LIST)?.entries;
  }

  async read(seat: Seat): Promise<ToolTexts | undefined> {
    return (await this.of(seat.server).read(seat, TOOLS_LIST))?.entries;
  }
}
