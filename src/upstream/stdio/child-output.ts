// An output of a child process. In one turn of the event loop it is read only as far as the quota of the
// process allows. Further output waits in the pipe, and so does the process.
import type { Readable } from 'node:stream';
import { onNextTurn, type TurnQuota } from '../../base/turns.ts';

/** Processes what was read. */
export interface OutputConsumer {
  /** Takes the next chunk. @returns false if a part of it is left for another turn */
  push(chunk: Buffer): boolean;
  /** Continues with the rest. @returns false if a part of it is left for another turn */
  goOn(): boolean;
}

/** Reads a stream to its end. */
export function readInTurns(stream: Readable, quota: TurnQuota, consumer: OutputConsumer): void {
  const resume = (): void => {
    if (!quota.isSpent && consumer.goOn()) stream.resume();
    else onNextTurn(resume);
  };
  stream.on('data', (chunk: Buffer) => {
    if (consumer.push(chunk) && !quota.isSpent) return;
    stream.pause();
    onNextTurn(resume);
  });
}
