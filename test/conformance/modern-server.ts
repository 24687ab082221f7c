/**
 * Owns the modern fixture's stdio process: `node test/conformance/modern-server.ts`. It speaks 2026-07-28
 * and nothing else: `initialize` is refused. stdout carries the protocol; it ends with stdin.
 */

import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createModernFixture } from './modern-fixture.ts';
import { TaskTable } from './modern-task-table.ts';

const tasks = new TaskTable();
// Tasks and calls at work would keep the process alive with nobody to answer to.
process.stdin.once('end', () => process.exit(0));
serveStdio(() => createModernFixture(tasks), {
  legacy: 'reject',
  onerror: (error) => {
    process.stderr.write(`modern fixture: ${error.message}\n`);
  },
});
