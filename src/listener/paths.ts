// Which path is served by what: exact matches only, no prefixes or suffixes (docs/reliability.md#a08).
import type { ServedEndpoint } from '../session/served-endpoint.ts';

/** What is served under a path. */
export type PathKind = 'mcp' | 'sse' | 'messages' | 'ws' | 'tickets';

const KINDS: readonly PathKind[] = ['mcp', 'sse', 'messages', 'ws', 'tickets'];

/** One path. */
export interface Route {
  readonly kind: PathKind;
  readonly path: string;
  readonly served: ServedEndpoint;
  /** Every path of the endpoint that clients connect to. */
  readonly paths: readonly string[];
  /** For `sse`: the path for its POSTs. */
  readonly messagesPath: string;
}

/** All paths of the public listener (docs/endpoints.md). */
export class PathTable {
  readonly #routes = new Map<string, Route>();

  /** Adds the paths of an endpoint under `prefix`, which is empty or begins with a slash. */
  add(prefix: string, served: ServedEndpoint): void {
    const messagesPath = `${prefix}/messages`;
    const paths = ['mcp', 'sse', 'ws'].map((kind) => `${prefix}/${kind}`);
    for (const kind of KINDS) {
      const path = `${prefix}/${kind}`;
      this.#routes.set(path, { kind, path, served, paths, messagesPath });
    }
  }

  /** Takes the faces of an endpoint out, unless another one is there by now. */
  remove(served: ServedEndpoint): void {
    for (const [path, route] of [...this.#routes]) {
      if (route.served === served) this.#routes.delete(path);
    }
  }

  /** One face of every endpoint that there is. */
  all(kind: PathKind): Route[] {
    return [...this.#routes.values()].filter(
      (route) => route.kind === kind && !route.served.isGone,
    );
  }

  /** The route of a request target; one trailing slash is ignored. */
  find(target: string): Route | undefined {
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    const route = this.#routes.get(path);
    if (route !== undefined || !path.endsWith('/')) return route;
    return this.#routes.get(path.slice(0, -1));
  }
}
