/** The text of docs/compatibility.md around the table. */
import { BEHAVIOUR_NAMES } from './behaviours.ts';
import { type Outcomes, shortTable } from './table.ts';

/** @returns the whole file */
export function documentOf(outcomes: Outcomes): string {
  return `# Compatibility

A client of any version uses a server of any version. The specification says that a client of
2026-07-28 (modern) fails with a server of the handshake versions up to 2025-11-25 (legacy), and the
other way round; through Sluice both work, server requests included.

**all** means: ${BEHAVIOUR_NAMES.join(', ')}.
Where a modern peer has another way to do the same, that way is used: server requests are asked in results,
subscriptions are listen streams, a call says itself which log messages it wants.

${shortTable(outcomes)}

- The clients are the official TypeScript SDKs. \`stdio\` is \`sluice connect URL\`, started by the client.
- The servers are made with the official SDKs too, 1.x for the legacy ones, 2.x for the modern ones. The
  remote ones speak Streamable HTTP.
- The legacy servers have \`sharing: session\`. A shared legacy server is not offered any client's roots:
  they belong to one client.

\`test/e2e/matrix.test.ts\` fills in the table; it fails when a cell stops working, and prints every cell
for itself. This file is written by \`npx vitest run test/e2e/matrix.test.ts -u\`.
`;
}
