// Writing to stdout and stderr at the pace of the reader.
import { once } from 'node:events';

process.stdout.on('error', () => process.exit(0));
process.stderr.on('error', () => process.exit(0));

/** Resolves when there is room for more. */
export async function write(
  bytes: Buffer | string,
  stream: NodeJS.WriteStream = process.stdout,
): Promise<void> {
  if (!stream.write(bytes)) await once(stream, 'drain');
}

/** Writes the same again and again until the process ends. */
export async function pour(
  bytes: Buffer | string,
  stream: NodeJS.WriteStream = process.stdout,
): Promise<never> {
  for (;;) await write(bytes, stream);
}
