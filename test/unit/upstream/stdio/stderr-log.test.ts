import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { StderrLog } from '../../../../src/upstream/stdio/stderr-log.ts';

const silent = pino({ level: 'silent' });

describe('the last stderr line of a server', () => {
  it('are the line that names the error, not what its runtime prints behind it', () => {
    const log = new StderrLog(silent);
    log.push(Buffer.from('/app/x.js:1\nthrow new Error("missing API key")\n\nError: missing'));
    log.push(Buffer.from(' API key\n    at file:///app/x.js:1:7\n\nNode.js v24.21.0\n'));
    log.flush();
    expect(log.lastLine).toBe('Error: missing API key');
  });

  it('are the last line where none names an error', () => {
    const log = new StderrLog(silent);
    log.push(Buffer.from('starting\nno such folder'));
    log.flush();
    expect(log.lastLine).toBe('no such folder');
  });
});
