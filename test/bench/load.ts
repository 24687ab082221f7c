// The load generator, a process of its own so that its work is not counted as the gateway's. It is told
// over IPC what to do, one job at a time, and keeps its clients between jobs.
import { HttpConnection } from './http-connection.ts';
import { McpClient } from './mcp-client.ts';
import { ModernMcpClient } from './modern-mcp-client.ts';
import { sampleProcess } from './process-table.ts';
import { percentile } from './statistics.ts';
import type { Shape } from './work.ts';

/** How clients talk to a subject. */
export interface Dialect {
  readonly era: 'legacy' | 'modern';
  /** What the tool `echo` is called there. */
  readonly tool: string;
  /** By which they are let in: header lines, each with its end. */
  readonly credentials?: string;
}

/** Where a subject listens and which process is measured. */
export interface Target extends Dialect {
  readonly port: number;
  readonly path: string;
  readonly pid: number;
}

/** Sessions are opened until `clients` are open; each is one call in flight later. */
export interface OpenJob {
  readonly kind: 'open';
  readonly target: Target;
  readonly clients: number;
  /** Done once by each, so that it is really open. */
  readonly shape: Shape;
  /** With a GET stream each. */
  readonly streams: boolean;
  /** Take turns on a few connections, so that sockets are not counted as sessions. */
  readonly shareConnections: boolean;
}
/** Calls in a closed loop. */
export interface RunJob {
  readonly kind: 'run';
  readonly target: Target;
  readonly shape: Shape;
  readonly inFlight: number;
  readonly durationMs: number;
  /** At least so many calls, even when that takes up to three times as long. */
  readonly minCalls: number;
}
/** All sessions of the target end. */
export interface CloseJob {
  readonly kind: 'close';
  readonly target: Target;
}
export type Job = OpenJob | RunJob | CloseJob;

/** What one closed loop gave. */
export interface RunResult {
  readonly calls: number;
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicrosPerCall: number;
  readonly rssBytes: number;
  /** Of the bodies of the answers to one call. */
  readonly bytesPerCall: number;
}
export type Reply =
  | { readonly ok: true; readonly run?: RunResult }
  | { readonly ok: false; readonly error: string };

const SHARED_CONNECTIONS = 8;
type Client = McpClient | ModernMcpClient;
const clientsOf = new Map<number, Client[]>();

function clientOf(target: Target, connection: HttpConnection | undefined): Client {
  const Kind = target.era === 'modern' ? ModernMcpClient : McpClient;
  return new Kind(target, target.tool, connection);
}

async function open(job: OpenJob): Promise<void> {
  const { target, clients, shape, streams, shareConnections } = job;
  const opened = clientsOf.get(target.port) ?? [];
  clientsOf.set(target.port, opened);
  const lanes = Math.min(SHARED_CONNECTIONS, clients - opened.length);
  await Promise.all(
    Array.from({ length: Math.max(0, lanes) }, async () => {
      const connection = shareConnections ? new HttpConnection(target.port, 30_000) : undefined;
      for (let left = clients - opened.length; left > 0; left = clients - opened.length) {
        const client = clientOf(target, connection);
        // Counted before it is open, so that the lanes do not open too many together.
        opened.push(client);
        await client.open();
        await client.perform(shape);
        if (streams) await client.openStream();
      }
    }),
  );
}

async function run(job: RunJob): Promise<RunResult> {
  const { target, shape, inFlight, durationMs, minCalls } = job;
  const clients = (clientsOf.get(target.port) ?? []).slice(0, inFlight);
  if (clients.length < inFlight) throw new Error(`only ${clients.length} clients are open`);
  for (const client of clients) client.reconnect();
  const latencies: number[] = [];
  let started = 0;
  let bytes = 0;
  let failure: unknown;
  const before = sampleProcess(target.pid);
  const begin = performance.now();
  const isOver = () => {
    const enoughMs = started >= minCalls ? durationMs : 3 * durationMs;
    return failure !== undefined || performance.now() - begin >= enoughMs;
  };
  await Promise.all(
    clients.map(async (client) => {
      while (!isOver()) {
        started += 1;
        const start = performance.now();
        try {
          const size = await client.perform(shape);
          bytes += size;
        } catch (error) {
          // The other clients finish their calls first, so that the next job starts in silence.
          failure ??= error;
        }
        latencies.push(performance.now() - start);
      }
    }),
  );
  if (failure !== undefined) throw failure instanceof Error ? failure : new Error(String(failure));
  const seconds = (performance.now() - begin) / 1000;
  const after = sampleProcess(target.pid);
  return {
    calls: latencies.length,
    callsPerSecond: latencies.length / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    cpuMicrosPerCall: (after.cpuMicros - before.cpuMicros) / latencies.length,
    rssBytes: after.rssBytes,
    bytesPerCall: bytes / latencies.length,
  };
}

async function close({ target }: CloseJob): Promise<void> {
  const clients = clientsOf.get(target.port) ?? [];
  clientsOf.delete(target.port);
  await Promise.all(clients.map((client) => client.close()));
}

async function perform(job: Job): Promise<Reply> {
  switch (job.kind) {
    case 'open':
      await open(job);
      return { ok: true };
    case 'run':
      return { ok: true, run: await run(job) };
    case 'close':
      await close(job);
      return { ok: true };
  }
}

process.on('message', (job: Job) => {
  void perform(job)
    .catch(
      (error: unknown): Reply => ({
        ok: false,
        error: error instanceof Error ? error.message : String(error),
      }),
    )
    .then((reply) => process.send?.(reply));
});
process.on('disconnect', () => process.exit(0));
