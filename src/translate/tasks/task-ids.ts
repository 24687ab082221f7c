// The ids of tasks as clients know them: sealed, so that nobody can guess or change one, and bound to
// who the task belongs to and where it runs. The same task has the same id each time, since clients
// compare them; they outlive the gateway only where `state.keys` is set (docs/protocol.md#handles,
// #tasks).

import { Sealer } from '../../base/sealer.ts';
import { isTextWithin, TEXT_LIMITS } from '../../base/text-limits.ts';
import { parseText } from '../../jsonrpc/parse.ts';
import { jsonText } from '../../jsonrpc/serialize.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';

const PURPOSE = 't1';

/** What an id says. */
export interface TaskClaims {
  /** Name of the server that runs the task. */
  readonly server: string;
  /** Which of its instances, as a lease names it. */
  readonly at: string;
  /** The server's own id. */
  readonly taskId: string;
  /** Key of the principal that it belongs to. */
  readonly principal: string;
}

/** What the id of a task says that a server made where a lease is, for this owner. */
export function claimsOf(
  { server, at }: Pick<Lease, 'server' | 'at'>,
  taskId: string,
  { principal }: Pick<Downstream, 'principal'>,
): TaskClaims {
  return { server, at, taskId, principal: principal.key };
}

/** Makes and reads the ids of tasks. */
export class TaskIds {
  readonly #sealer: Sealer;

  /**
   * @param secrets texts that keys are made of; none: a random key that dies with the process
   */
  constructor(secrets: readonly string[]) {
    this.#sealer = new Sealer(PURPOSE, secrets);
  }

  seal({ server, at, taskId, principal }: TaskClaims): string {
    return this.#sealer.sealAlike(jsonText([server, at, taskId, principal]));
  }

  /**
   * Reads an id that a client sent.
   * @returns undefined when it is none of this gateway's, or belongs to somebody else
   */
  open(id: unknown, principal: Principal): TaskClaims | undefined {
    const text = isTextWithin(id, TEXT_LIMITS.taskId) ? this.#sealer.open(id) : undefined;
    const claims = text === undefined ? undefined : parseText(text);
    if (!Array.isArray(claims) || claims.some((claim) => typeof claim !== 'string')) {
      return undefined;
    }
    const [server, at, taskId, owner] = claims as [string, string, string, string];
    return owner === principal.key ? { server, at, taskId, principal: owner } : undefined;
  }
}

/** What makes two tasks the same one, whoever asks. */
export function taskKey({ server, at, taskId }: TaskClaims): string {
  return jsonText([server, at, taskId]);
}
