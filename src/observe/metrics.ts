// All metrics: name, help, labels and buckets (docs/metrics.md). Labels come from the configuration or from
// fixed lists, never from clients.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Traffic } from './traffic.ts';

const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600];

// prom-client calls these gauges `_total`, which promtool rejects (client_js issue 283).
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** How a request ended. */
export type RequestOutcome = 'ok' | 'error' | 'failed' | 'cancelled';

/** What gauges read from the live tables at each scrape. */
export interface Snapshot {
  readonly servers: readonly {
    readonly name: string;
    readonly isUp: boolean;
    readonly instances: number;
    readonly inFlight: number;
    readonly queued: number;
    readonly traffic: Traffic;
  }[];
  readonly held: {
    readonly limitBytes: number;
    readonly byKind: Readonly<Record<string, number>>;
  };
  readonly auditWaiting: number;
  readonly sessions: Readonly<Record<string, number>>;
  readonly streams: Readonly<Record<string, number>>;
  /** Open connections to the public listener, and their limit. */
  readonly connections: { readonly open: number; readonly limit: number };
}

/** A metric whose series can be looked at, and ended. */
interface LabelledMetric {
  get(): Promise<{
    readonly values: readonly { readonly labels: Partial<Record<string, string | number>> }[];
  }>;
  remove(labels: Partial<Record<string, string | number>>): void;
}

/** All metrics of one gateway. */
export class Metrics {
  readonly registry = new Registry();

  readonly requests = this.#counter('sluice_requests_total', 'Client requests that ended.', [
    'endpoint',
    'server',
    'method',
    'outcome',
  ]);
  readonly requestDuration = new Histogram({
    name: 'sluice_request_duration_seconds',
    help: 'Time from a client request to its answer.',
    labelNames: ['server', 'method'] as const,
    buckets: DURATION_BUCKETS,
    registers: [this.registry],
  });
  readonly serverRestarts = this.#counter(
    'sluice_server_restarts_total',
    'Starts of a server after the first one, by the reason for the end before it.',
    ['server', 'reason'],
  );
  readonly serverStart = new Histogram({
    name: 'sluice_server_start_seconds',
    help: 'Time from starting a server to the end of its handshake.',
    labelNames: ['server'] as const,
    buckets: DURATION_BUCKETS,
    registers: [this.registry],
  });
  readonly notificationsWithheld = this.#counter(
    'sluice_notifications_withheld_total',
    'Notifications of servers that were not delivered.',
    ['server', 'reason'],
  );
  readonly serverRequests = this.#counter(
    'sluice_server_requests_total',
    'Requests of servers to clients, by outcome.',
    ['server', 'method', 'outcome'],
  );
  readonly slowConsumers = this.#counter(
    'sluice_slow_consumers_total',
    'Client streams that were closed because the client did not read.',
    ['transport'],
  );
  readonly rejected = this.#counter(
    'sluice_rejected_total',
    'Client messages that were refused before they reached a server.',
    ['reason'],
  );
  readonly idleClosed = this.#counter(
    'sluice_idle_connections_closed_total',
    'Idle connections of clients that were closed to make room for others.',
    [],
  );
  readonly sessionsDisplaced = this.#counter(
    'sluice_sessions_displaced_total',
    'Unused sessions that were ended to make room for new ones.',
    ['limit'],
  );
  readonly sessionsTakenUp = this.#counter(
    'sluice_sessions_taken_up_total',
    'Sessions of an earlier process that clients went on with.',
    [],
  );
  readonly heldCut = this.#counter(
    'sluice_held_bytes_cut_total',
    'Things that were dropped because too many bytes were held.',
    ['kind'],
  );
  /** Accepted requests since the last scrape. A plain number, because every request passes here. */
  admitted = 0;
  /** Results of authentication for refused requests. */
  readonly auth = this.#authTotal();
  readonly tokensRefused = this.#counter(
    'sluice_tokens_refused_total',
    'Access tokens that were refused, by reason.',
    ['reason'],
  );
  readonly auditLost = this.#counter(
    'sluice_audit_lost_total',
    'Lines of the audit log that are lost.',
    ['reason'],
  );
  readonly insecure = this.#gauge(
    'sluice_insecure_config',
    '1 if other machines can connect without authentication.',
    [],
  );
  readonly configReloads = this.#counter('sluice_config_reloads_total', 'Configuration reloads.', [
    'outcome',
  ]);

  /**
   * @param build version of Sluice and of Node, for `sluice_build_info`
   */
  constructor(build: { version: string; node: string }) {
    // The default of 10 ms takes ten times as much idle CPU as everything else here.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 100 });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    const info = this.#gauge('sluice_build_info', 'Always 1; the labels contain the versions.', [
      'version',
      'node',
    ]);
    info.set(build, 1);
    for (const outcome of ['ok', 'refused']) this.configReloads.inc({ outcome }, 0);
  }

  /** A server is none of the configuration any more: its series end. */
  async forgetServer(server: string): Promise<void> {
    const all: readonly LabelledMetric[] = [
      this.requests,
      this.requestDuration,
      this.serverRestarts,
      this.serverStart,
      this.notificationsWithheld,
      this.serverRequests,
    ];
    for (const metric of all) {
      const { values } = await metric.get();
      for (const { labels } of values) {
        const { le: _, ...own } = labels;
        if (own['server'] === server) metric.remove(own);
      }
    }
  }

  /** Makes every scrape read the live tables, so that no gauge can differ from them. */
  observe(snapshot: () => Snapshot): void {
    this.#collected('sluice_server_up', 'Whether a server can be used.', ['server'], (gauge) => {
      for (const server of snapshot().servers) {
        gauge.set({ server: server.name }, server.isUp ? 1 : 0);
      }
    });
    this.#collected('sluice_server_instances', 'Live instances.', ['server'], (gauge) => {
      for (const server of snapshot().servers) gauge.set({ server: server.name }, server.instances);
    });
    this.#collected(
      'sluice_requests_in_flight',
      'Calls in flight at a server.',
      ['server'],
      (gauge) => {
        for (const server of snapshot().servers)
          gauge.set({ server: server.name }, server.inFlight);
      },
    );
    this.#collected(
      'sluice_queue_depth',
      'Calls that wait in the queue of a server.',
      ['server'],
      (gauge) => {
        for (const server of snapshot().servers) gauge.set({ server: server.name }, server.queued);
      },
    );
    this.#observeTraffic(snapshot);
    this.#collected(
      'sluice_held_bytes',
      'Bytes held in memory for clients and servers.',
      ['kind'],
      (gauge) => {
        for (const [kind, bytes] of Object.entries(snapshot().held.byKind)) {
          gauge.set({ kind }, bytes);
        }
      },
    );
    this.#collected('sluice_held_bytes_limit', 'Limit of the held bytes.', [], (gauge) => {
      gauge.set(snapshot().held.limitBytes);
    });
    this.#collected(
      'sluice_audit_waiting_lines',
      'Lines of the audit log that are not written yet.',
      [],
      (gauge) => {
        gauge.set(snapshot().auditWaiting);
      },
    );
    this.#collected('sluice_sessions', 'Open client sessions.', ['transport'], (gauge) => {
      for (const [transport, count] of Object.entries(snapshot().sessions)) {
        gauge.set({ transport }, count);
      }
    });
    this.#collected('sluice_streams', 'Open streams to clients.', ['transport'], (gauge) => {
      for (const [transport, count] of Object.entries(snapshot().streams)) {
        gauge.set({ transport }, count);
      }
    });
    this.#observeConnections(snapshot);
  }

  #observeConnections(snapshot: () => Snapshot): void {
    this.#collected('sluice_connections', 'Open connections of clients.', [], (gauge) => {
      gauge.set(snapshot().connections.open);
    });
    this.#collected(
      'sluice_connections_limit',
      'Limit of the open connections of clients.',
      [],
      (gauge) => {
        gauge.set(snapshot().connections.limit);
      },
    );
  }

  /** Every message passes here, so plain numbers are counted; see traffic.ts. */
  #observeTraffic(snapshot: () => Snapshot): void {
    const registers = [this.registry];
    new Counter({
      name: 'sluice_messages_total',
      help: 'Messages exchanged with servers.',
      labelNames: ['server', 'direction', 'kind'] as const,
      registers,
      collect() {
        this.reset();
        for (const { name, traffic } of snapshot().servers) {
          const { sentMessages, responses, notifications, serverRequests, noise, unmatched } =
            traffic;
          this.inc({ server: name, direction: 'to_server', kind: 'message' }, sentMessages);
          const kinds = { responses, notifications, requests: serverRequests, noise, unmatched };
          for (const [kind, count] of Object.entries(kinds)) {
            this.inc({ server: name, direction: 'from_server', kind }, count);
          }
        }
      },
    });
    new Counter({
      name: 'sluice_bytes_total',
      help: 'Bytes of messages exchanged with servers.',
      labelNames: ['server', 'direction'] as const,
      registers,
      collect() {
        this.reset();
        for (const { name, traffic } of snapshot().servers) {
          this.inc({ server: name, direction: 'to_server' }, traffic.sentBytes);
          this.inc({ server: name, direction: 'from_server' }, traffic.receivedBytes);
        }
      },
    });
  }

  #authTotal(): Counter<'outcome'> {
    const counter = new Counter({
      name: 'sluice_auth_total',
      help: 'Authentication decisions.',
      labelNames: ['outcome'] as const,
      registers: [this.registry],
      collect: () => {
        counter.inc({ outcome: 'ok' }, this.admitted);
        this.admitted = 0;
      },
    });
    return counter;
  }

  #counter<T extends string>(name: string, help: string, labelNames: T[]): Counter<T> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #gauge<T extends string>(name: string, help: string, labelNames: T[]): Gauge<T> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  #collected<T extends string>(
    name: string,
    help: string,
    labelNames: T[],
    fill: (gauge: Gauge<T>) => void,
  ): void {
    const registers = [this.registry];
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        fill(this);
      },
    });
  }
}
