// A big fleet: many servers with many tools each, and the list that an endpoint with all of them gives.
// The servers answer from files that are written here; the constant of the same bytes is made here too.

/** How big it is. */
export interface FleetSize {
  readonly servers: number;
  readonly toolsEach: number;
}

/** As the benchmark of lists has it. */
export const FLEET: FleetSize = { servers: 100, toolsEach: 20 };
/** Entries of a page of an aggregate's list (src/catalog/listing.ts). */
const PAGE_ENTRIES = 1000;
/** As long as the ones that Sluice makes. */
const CURSOR = 'Y29uc3RhbnQtY29uc3QuMTAwMA';

/** What a server says of a tool. */
interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

/** What a server is called. */
export function fleetServerName(server: number): string {
  return `fleet${String(server).padStart(2, '0')}`;
}

/** The tools of one server, described as real ones are: about 200 bytes of text and a small schema. */
export function fleetTools(server: number, count: number): Tool[] {
  return Array.from({ length: count }, (_, n) => ({
    name: `find_records_${n}`,
    description: `Finds records of collection ${n} in system ${server} that match a query. Returns at most 'limit' of them, newest first, with their keys, owners and times of change; an empty answer is no error.`,
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
      required: ['query'],
    },
  }));
}

/**
 * The whole list as the results of `tools/list`, a page each.
 * @returns JSON texts, in order
 */
export function fleetPages({ servers, toolsEach }: FleetSize): string[] {
  const tools = Array.from({ length: servers }, (_, server) =>
    fleetTools(server, toolsEach).map(({ name, ...rest }) => {
      return { name: `${fleetServerName(server)}__${name}`, ...rest };
    }),
  ).flat();
  const pages: string[] = [];
  for (let start = 0; start < tools.length; start += PAGE_ENTRIES) {
    const end = start + PAGE_ENTRIES;
    const next = end < tools.length ? { nextCursor: CURSOR } : {};
    pages.push(JSON.stringify({ tools: tools.slice(start, end), ...next }));
  }
  return pages;
}

/** The least that the answers with the whole list weigh together, in bytes. */
export function fleetListBytes(size: FleetSize): number {
  return fleetPages(size).reduce((sum, page) => sum + Buffer.byteLength(page) - CURSOR.length, 0);
}
