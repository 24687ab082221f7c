/**
 * What this process holds, for tests that show that something is not kept.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes in use once the garbage is gone: objects and buffers. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Each byte in memory of its own, as a socket hands them on. */
export function* singleBytes(bytes: Buffer): Iterable<Buffer> {
  for (const byte of bytes) yield Buffer.alloc(1, byte);
}
