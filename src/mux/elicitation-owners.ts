// Whose an elicitation is that a server named by an id: the server tells of its end by that id alone,
// to nobody in particular, and only who was asked may hear of it (docs/protocol.md#url-elicitation,
// docs/reliability.md#b15).
import { RecentMap } from '../base/recent-map.ts';
import type { Downstream } from '../ports/downstream.ts';

/** More are forgotten, the oldest first: their end is told to nobody. */
const MAX_ELICITATIONS = 1_000;

interface Elicitation {
  readonly id: string;
  /** Undefined: the id was given to several, and says nothing any more. */
  readonly owner: Downstream | undefined;
}

/** The open elicitations of one server. */
export class ElicitationOwners {
  #owners = new RecentMap<string, Elicitation>(MAX_ELICITATIONS);

  /** A client was given an elicitation. */
  given(id: string, client: Downstream): void {
    const known = this.#owners.get(id);
    const isSame = known === undefined || known.owner?.principal.key === client.principal.key;
    // The last of a principal's sessions is the one that waits.
    this.#owners.set(id, { id, owner: isSame ? client : undefined });
  }

  /** An elicitation is over. @returns who is to be told */
  end(id: string): Downstream | undefined {
    const owner = this.#owners.get(id)?.owner;
    this.#owners.delete(id);
    return owner;
  }

  /** A client is gone. */
  left(client: Downstream): void {
    for (const { id, owner } of this.#owners.values()) {
      if (owner === client) this.#owners.delete(id);
    }
  }

  clear(): void {
    this.#owners = new RecentMap(MAX_ELICITATIONS);
  }
}
