// The audit log: who called what when, how it ended, how long it took and how large it was. One JSON line
// an event, never a payload or a credential; bounded while its file can't be written.
import { openSync } from 'node:fs';
import { pino } from 'pino';
import type { Metrics } from './metrics.ts';
import type { AuditOptions } from './options.ts';

/** What may wait for a slow disk; more is dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const OWNER_ONLY = 0o600;
const STDOUT = 1;
/** Names come from clients. */
const MAX_NAME_LENGTH = 256;

/** Who did it. */
interface Actor {
  readonly key: string;
  readonly kind?: string;
  readonly name?: string;
}

/** A call that ended. */
export interface AuditedCall {
  readonly principal: Actor;
  readonly endpoint: string;
  readonly server: string;
  readonly method: string;
  /** Of the tool or prompt, or the URI of the resource. */
  readonly target: string | undefined;
  readonly outcome: string;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
}

/** A request that was not let in. */
export interface AuditedRefusal {
  readonly outcome: string;
  readonly principal: Actor | undefined;
  readonly address: string;
  /** undefined: the path is none of an endpoint. */
  readonly endpoint: string | undefined;
}

/** A session that begins or ends. */
export interface AuditedSession {
  readonly principal: Actor;
  readonly endpoint: string;
  readonly transport: string;
}

type Destination = ReturnType<typeof pino.destination>;

/** Writes the audit log. */
export class AuditLog {
  readonly #lines: pino.Logger;
  readonly #destination: Destination;

  /** @throws when the file can't be opened */
  constructor(to: string, metrics: Pick<Metrics, 'auditLost'>) {
    // Opened here, so that a start fails whose audit log can't be written.
    const dest = to === 'stdout' ? STDOUT : openSync(to, 'a', OWNER_ONLY);
    this.#destination = pino.destination({ dest, sync: false, maxLength: MAX_WAITING_BYTES });
    this.#destination.on('drop', () => metrics.auditLost.inc({ reason: 'full' }));
    this.#destination.on('error', () => metrics.auditLost.inc({ reason: 'error' }));
    this.#lines = pino(
      {
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: () => ({ log: 'audit' }) },
      },
      this.#destination,
    );
  }

  call(call: AuditedCall): void {
    const { principal, target, durationMs, ...rest } = call;
    this.#lines.info({
      event: 'call',
      ...actor(principal),
      ...rest,
      target: target?.slice(0, MAX_NAME_LENGTH),
      ms: Math.round(durationMs * 10) / 10,
    });
  }

  refused({ principal, ...rest }: AuditedRefusal): void {
    this.#lines.info({
      event: 'refused',
      ...(principal === undefined ? {} : actor(principal)),
      ...rest,
    });
  }

  session(event: 'session_opened' | 'session_ended', session: AuditedSession): void {
    const { principal, ...rest } = session;
    this.#lines.info({ event, ...actor(principal), ...rest });
  }

  /** Writes what waits. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#destination.once('close', resolve);
      this.#destination.end();
    });
  }
}

/** The audit log of a configuration, if it has one. */
export function createAuditLog(
  options: AuditOptions,
  metrics: Pick<Metrics, 'auditLost'>,
): AuditLog | undefined {
  return options.to === undefined ? undefined : new AuditLog(options.to, metrics);
}

function actor({ key, kind, name }: Actor): Record<string, unknown> {
  return { principal: name?.slice(0, MAX_NAME_LENGTH) ?? key, kind };
}
