// The audit log: who called what when, how it ended, how long it took and how large it was. One JSON line
// an event, never a payload or a credential.

import { pino } from 'pino';
import type { GatewayError } from '../base/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { AuditFile } from './audit-file.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { AuditOptions } from './options.ts';

/** Names and methods come from clients. */
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

/** Writes the audit log. */
export class AuditLog {
  readonly #lines: pino.Logger;
  readonly #file: AuditFile;
  readonly #isRequired: boolean;

  /** @throws when the file can't be opened */
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
    // Says from when on there are lines, and finds out whether there can be any.
    this.#lines.info({ event: 'started' });
  }

  /** Whether nothing may happen now, since it could not be written. */
  get isBlind(): boolean {
    return this.#isRequired && this.#file.isFailing;
  }

  /**
   * Says so to a client. The refusal is a line too, so the log is tried again with each.
   * @returns undefined while all is well
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

  /** How many lines are not written yet. */
  get waiting(): number {
    return this.#file.waiting;
  }

  /** Writes what waits now, for a process that ends at once. */
  flush(): void {
    this.#file.flush();
  }

  /** Writes what waits. */
  close(): Promise<void> {
    return this.#file.close();
  }
}

/** The audit log of a configuration, if it has one. */
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
