/** What a client sees of servers whose lists change, while it is found out what they are together. */
import { expect, it } from 'vitest';
import { Composer } from '../../../src/catalog/composer.ts';
import { MemberCatalog } from '../../../src/catalog/member-catalog.ts';
import { Pins } from '../../../src/catalog/pins/pins.ts';
import type { ServerList } from '../../../src/catalog/server-list.ts';
import type { Logger } from '../../../src/observe/logger.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import type { Member } from '../../../src/router/aggregate/member.ts';
import { View } from '../../../src/router/aggregate/view.ts';

const logger = { warn: () => undefined } as unknown as Logger;
const MANY = 10_000;

/** A server whose list is what the test says. */
class Server {
  readonly catalog: MemberCatalog;
  readonly lists = {
    version: 0,
    current: () => this.#list,
    fresh: () => this.#list,
    last: () => this.#list,
  };
  readonly #key = {};
  readonly lease = { listKey: () => this.#key } as unknown as Lease;
  #list: ServerList | undefined;

  constructor(key: string) {
    this.catalog = new MemberCatalog(
      { key, shaping: [], pin: 'off' },
      { pins: new Pins(new Map()), logger },
    );
  }

  offer(kind: string, count: number): void {
    const entries = Array.from({ length: count }, (_, at) => {
      const name = `${kind}${at}`;
      return { name, text: Buffer.from(JSON.stringify({ name, uri: name })) };
    });
    this.#list = { entries, ttlMs: 0, isPublic: true };
    this.lists.version++;
  }

  get member(): Member {
    const { lists, catalog } = this;
    return { key: catalog.key, lists, catalog, isShared: true } as unknown as Member;
  }
}

function viewOf(...servers: readonly Server[]): View {
  const catalogs = servers.map(({ catalog }) => catalog);
  const endpoint = {
    members: servers.map(({ member }) => member),
    composer: new Composer(catalogs, { prefix: 'always', separator: '__' }, logger),
  };
  return new View(endpoint, {
    lease: (index) => servers[index]?.lease,
    peek: (index) => servers[index]?.lease,
    refusal: () => undefined,
    completed: () => undefined,
  });
}

it('calls of other servers wait for no long list of one', async () => {
  const [few, many] = [new Server('few'), new Server('many')];
  const view = viewOf(few, many);
  few.offer('t', 3);
  many.offer('u', 3);
  const before = view.find('tools/list', 'few__t1');
  expect(before).toMatchObject({ upstream: 't1' });
  many.offer('v', MANY);
  expect(view.find('tools/list', 'few__t1')).toBe(before);
  const old = view.find('tools/list', 'many__u1');
  const late = view.find('tools/list', 'many__v9999');
  expect([old, late].every((one) => one instanceof Promise)).toBe(true);
  expect(await old).toBeUndefined();
  expect(await late).toMatchObject({ upstream: 'v9999', member: 1 });
  expect(view.find('tools/list', 'many__v1')).toMatchObject({ upstream: 'v1' });
});

it('URIs are what they were until long lists are composed', async () => {
  const [server, other] = [new Server('s'), new Server('other')];
  const view = viewOf(server, other);
  other.offer('c:', 1);
  server.offer('a:', 3);
  await view.resources();
  expect(view.knownTable.exposed('s', 'a:1')).toBe('a:1');
  server.offer('b:', MANY);
  expect(view.knownTable.exposed('s', 'b:1')).toBe('s+b:1');
  await view.resources();
  expect(view.knownTable.exposed('s', 'b:1')).toBe('b:1');
});
