// Whose an elicitation is that a server named by an id: the server tells of its end by that id alone,
// to nobody in particular, and only who was asked may hear of it (docs/protocol.md#url-elicitation,
// docs/reliability.md#b15).
import type { Downstream } from '../ports/downstream.ts';

/** More are forgotten, the oldest first: their end is told to nobody. */
const MAX_ELICITATIONS = 1_000;

/** The open elicitations of one server. */
export class ElicitationOwners {
  /** Undefined: the id was given to several, and says nothing any more. */
  readonly #owners = new Map<string, Downstream | undefined>();

  /** A client was given an elicitation. */
  given(id: string, client: Downstream): void {
    const isKnown = this.#owners.has(id);
    const owner = this.#owners.get(id);
    const isSame = !isKnown || owner?.principal.key === client.principal.key;
    // The last of a principal's sessions is the one that waits.
    this.#owners.delete(id);
    this.#owners.set(id, isSame ? client : undefined);
    const [oldest] = this.#owners.keys();
    if (this.#owners.size > MAX_ELICITATIONS && oldest !== undefined) this.#owners.delete(oldest);
  }

  /** An elicitation is over. @returns who is to be told */
  end(id: string): Downstream | undefined {
    const owner = this.#owners.get(id);
    this.#owners.delete(id);
    return owner;
  }

  /** A client is gone. */
  left(client: Downstream): void {
    for (const [id, owner] of this.#owners) if (owner === client) this.#owners.delete(id);
  }

  clear(): void {
    this.#owners.clear();
  }
}
