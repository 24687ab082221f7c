// An output of a child process, read no further in one turn of the event loop than the process has a
// share of it: what it writes on waits in its pipe, and so does the process.
import type { Readable } from 'node:stream';
import { onNextTurn, type TurnQuota } from '../../base/turns.ts';

/** Whoever works off what was read. */
export interface OutputConsumer {
  /** Takes the next chunk. @returns false when some of it is left for another turn */
  push(chunk: Buffer): boolean;
  /** Goes on with what is left. @returns false when some of it is left for another turn */
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
