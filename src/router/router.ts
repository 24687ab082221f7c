// Which endpoints there are, by name. An immutable snapshot: a new configuration makes a new one.
import type { Dispatcher, Endpoint } from '../ports/dispatcher.ts';

/** The endpoints of one configuration. */
export class Router implements Dispatcher {
  readonly #endpoints: ReadonlyMap<string, Endpoint>;

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]));
  }

  endpoint(name: string): Endpoint | undefined {
    return this.#endpoints.get(name);
  }
}
