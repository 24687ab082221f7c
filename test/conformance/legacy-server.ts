/**
 * Owns the legacy fixture's stdio process: `node test/conformance/legacy-server.ts`. The gateway
 * starts it as its only server. stdout carries the protocol and nothing else; it ends with stdin.
 */

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createLegacyFixture } from './legacy-fixture.ts';

const server = createLegacyFixture();
server.onerror = (error) => {
  process.stderr.write(`legacy fixture: ${error.message}\n`);
};
// The SDK's transport does not notice the end of its input, and a call in flight would keep
// the process alive without anybody to answer to.
process.stdin.once('end', () => process.exit(0));
await server.connect(new StdioServerTransport());
