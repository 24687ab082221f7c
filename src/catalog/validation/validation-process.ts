// The validation process. It is separate from the gateway, so that a check that uses all time or all memory
// can be ended without harm. It keeps the most recently used compiled schemas; the gateway sends others again
// if it is asked to. It ends when the gateway closes its channel.
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../base/errors.ts';
import { parseSpan } from '../../jsonrpc/parse.ts';
import { type CompiledSchema, compileSchema } from './compile-schema.ts';
import {
  type JobOutcome,
  type JobReport,
  READY,
  sourceBeside,
  type ValidationJob,
} from './jobs.ts';

const MAX_COMPILED = 512;
const MICROSECONDS = 1_000;

type Entry = CompiledSchema | { readonly unusable: string };

/** By digest; the most recently used ones are last. */
const compiled = new Map<string, Entry>();

function run({ digest, schema, args }: ValidationJob): JobOutcome {
  const entry = compiled.get(digest) ?? (schema && compileSchema(asBuffer(schema)));
  if (entry === undefined) return { kind: 'missing' };
  compiled.delete(digest);
  compiled.set(digest, entry);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  if ('unusable' in entry) return { kind: 'unusable', reason: entry.unusable };
  const errors = entry.check(parseSpan(asBuffer(args), 0, args.length));
  return errors.length === 0 ? { kind: 'valid' } : { kind: 'invalid', errors };
}

function answer(job: ValidationJob): JobOutcome {
  try {
    return run(job);
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'overrun', what: 'stack' };
    return { kind: 'failed', reason: messageOf(error) };
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function report(job: ValidationJob): JobReport {
  const before = process.threadCpuUsage();
  const outcome = answer(job);
  const { user, system } = process.threadCpuUsage(before);
  return { outcome, cpuMs: (user + system) / MICROSECONDS };
}

process.on('message', (job: ValidationJob) => process.send?.(report(job)));
// During an endless check the main thread can't react, so another thread must end the process.
new Worker(sourceBeside(import.meta.url, 'orphan-guard'), { env: {} }).unref();
// The first schema of a process takes ten times as long as the others.
compileSchema(Buffer.from('{"type":"object"}'));
process.send?.(READY);
