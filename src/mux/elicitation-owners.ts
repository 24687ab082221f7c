// The clients that got an elicitation with an id. The server announces its completion by that id alone, and
// only the client that was asked may get the announcement (docs/protocol.md#url-elicitation,
// docs/reliability.md#b15).
import { RecentMap } from '../base/recent-map.ts';
import type { Downstream } from '../ports/downstream.ts';

/** Beyond this number the oldest ones are dropped; nobody is told of their completion. */
const MAX_ELICITATIONS = 1_000;

interface Elicitation {
  readonly id: string;
  /** Undefined: several principals got the id, so it identifies no client. */
  readonly owner: Downstream | undefined;
}

/** The open elicitations of one server. */
export class ElicitationOwners {
  #owners = new RecentMap<string, Elicitation>(MAX_ELICITATIONS);

  /** Notes that a client got an elicitation. */
  given(id: string, client: Downstream): void {
    const known = this.#owners.get(id);
    const isSame = known === undefined || known.owner?.principal.key === client.principal.key;
    // Among sessions of one principal, the latest one waits.
    this.#owners.set(id, { id, owner: isSame ? client : undefined });
  }

  /** An elicitation is complete. @returns the client to be told */
  end(id: string): Downstream | undefined {
    const owner = this.#owners.get(id)?.owner;
    this.#owners.delete(id);
    return owner;
  }

  /** A client disconnected. */
  left(client: Downstream): void {
    for (const { id, owner } of this.#owners.values()) {
      if (owner === client) this.#owners.delete(id);
    }
  }

  clear(): void {
    this.#owners = new RecentMap(MAX_ELICITATIONS);
  }
}
