/**
 * Owns the process of a fixture over HTTP without the gateway: `node test/conformance/direct-http.ts
 * legacy|modern`. It tells whether a failing scenario is the fixture's fault. Announces itself on stderr
 * as the gateway does (`listening`, then `ready`), so that the runner need not know which it started.
 */

import { createServer } from 'node:http';
import { answerLegacy } from './legacy-http.ts';
import { answerModern } from './modern-http.ts';

const answer = process.argv[2] === 'modern' ? answerModern : answerLegacy;

function announce(line: Record<string, string>): void {
  process.stderr.write(`${JSON.stringify(line)}\n`);
}

const http = createServer((req, res) => {
  answer(req, res, `127.0.0.1:${req.socket.localPort ?? 0}`).catch((error: unknown) => {
    announce({ msg: 'failed', error: String(error) });
    if (!res.headersSent) res.writeHead(500);
    res.end();
  });
});

http.listen(0, '127.0.0.1', () => {
  const address = http.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  announce({ msg: 'listening', listener: 'public', url: `http://127.0.0.1:${address.port}` });
  announce({ msg: 'ready' });
});

process.once('SIGTERM', () => process.exit(0));
