// Since when a server's lists are what they are: an object for each list, another one whenever it may
// have changed. Whoever keeps something of a list keeps it by that object.
import { LIST_CHANGED, RESOURCE_UPDATED } from '../mcp/methods.ts';
import type { ListKind } from '../ports/lease.ts';

/** After these a resource may have other contents. */
const OF_CONTENTS: ReadonlySet<string> = new Set([
  RESOURCE_UPDATED,
  'notifications/resources/list_changed',
]);

/** The keys of one instance's lists. */
export class ListKeys {
  readonly #keys = new Map<ListKind, object>();

  of(kind: ListKind): object {
    let key = this.#keys.get(kind);
    if (key === undefined) {
      key = {};
      this.#keys.set(kind, key);
    }
    return key;
  }

  /** The server said something: perhaps that a list is another one now. */
  noticed(method: string): void {
    // notifications/KIND/list_changed
    if (LIST_CHANGED.has(method)) this.#keys.delete(method.split('/')[1] as ListKind);
    if (OF_CONTENTS.has(method)) this.#keys.delete('contents');
  }

  /** The server was started anew. */
  renew(): void {
    this.#keys.clear();
  }
}
