// The audit log: who called what and when, how it ended, how long it took and how large it was. One JSON line
// for each event, without payloads and credentials.

import { pino } from 'pino';
import type { GatewayError } from '../base/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { AuditFile } from './audit-file.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { AuditOptions } from './options.ts';

/** Names and methods come from clients. */
const MAX_NAME_LENGTH = 256;

/** The client. */
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
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly target: string | undefined;
  readonly outcome: string;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
}

/** A request that was refused. */
export interface AuditedRefusal {
  readonly outcome: string;
  readonly principal: Actor | undefined;
  readonly address: string;
  /** Undefined: there is no endpoint at the path. */
  readonly endpoint: string | undefined;
}

/** A session that begins or ends. */
export interface AuditedSession {
  readonly principal: Actor;
  readonly endpoint: string;
  readonly transport: string;
}

/** Writes the audit log. */
export class AuditLog {
  readonly #lines: pino.Logger;
  readonly #file: AuditFile;
  readonly #isRequired: boolean;

  /** @throws if the file can't be opened */
  constructor(
    to: string,
    parts: { metrics: Pick<Metrics, 'auditLost'>; logger: Logger; isRequired: boolean },
  ) {
    this.#file = new AuditFile(to, parts.metrics, parts.logger);
    this.#isRequired = parts.isRequired;
    this.#lines = pino(
      {
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: () => ({ log: 'audit' }) },
      },
      this.#file.stream,
    );
    // The first line, which also shows whether the file can be written.
    this.#lines.info({ event: 'started' });
  }

  /** Whether calls must be refused because they could not be logged. */
  get isBlind(): boolean {
    return this.#isRequired && this.#file.isFailing;
  }

  /**
   * The error for a client if calls must be refused. The refusal is logged too, so each one tries to write
   * the log again.
   * @returns undefined if the log can be written
   */
  refusal(): GatewayError | undefined {
    return this.isBlind ? FAILURES.noAuditLog() : undefined;
  }

  call(call: AuditedCall): void {
    const { principal, method, target, durationMs, ...rest } = call;
    this.#lines.info({
      event: 'call',
      ...actor(principal),
      ...rest,
      method: method.slice(0, MAX_NAME_LENGTH),
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

  session(
    event: 'session_opened' | 'session_taken_up' | 'session_ended',
    session: AuditedSession,
  ): void {
    const { principal, ...rest } = session;
    this.#lines.info({ event, ...actor(principal), ...rest });
  }

  /** The number of lines that are not written yet. */
  get waiting(): number {
    return this.#file.waiting;
  }

  /** Writes the waiting lines at once, for a process that ends. */
  flush(): void {
    this.#file.flush();
  }

  /** Writes the waiting lines. */
  close(): Promise<void> {
    return this.#file.close();
  }
}

/** The audit log of a configuration; undefined if there is none. */
export function createAuditLog(
  options: AuditOptions,
  metrics: Pick<Metrics, 'auditLost'>,
  logger: Logger,
): AuditLog | undefined {
  const { to, required: isRequired } = options;
  return to === undefined ? undefined : new AuditLog(to, { metrics, logger, isRequired });
}

function actor({ key, kind, name }: Actor): Record<string, unknown> {
  return { principal: name?.slice(0, MAX_NAME_LENGTH) ?? key, kind };
}
