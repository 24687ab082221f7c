// Names of tools and prompts at a merged endpoint (docs/protocol.md#merged-endpoints). They are valid for the
// strictest model API, without collisions, and do not depend on the order of the servers. To find the owner
// of a name, it is looked up in the table, never split.
import { createHash } from 'node:crypto';
import { eachItem, type StepsTo } from '../base/steps.ts';

/** When a name gets the server's name as a prefix. */
export type PrefixMode = 'always' | 'never' | 'onConflict';

/** How names are made. */
export interface NamingOptions {
  readonly prefix: PrefixMode;
  /** Between the server's name and the tool's name. */
  readonly separator: string;
}

/** The names that one server lists. */
export interface NamedMember {
  /** The server's configured name. */
  readonly key: string;
  /** As the server sends them, or as its entry renames them. */
  readonly names: readonly string[];
}

/** The owner of a name. */
export interface NameOwner {
  readonly key: string;
  /** As in `NamedMember.names`. */
  readonly name: string;
}

/** A name that is not shown, because another server has it (`prefix: never`). */
export interface WithheldName extends NameOwner {
  /** The server that keeps the name. */
  readonly keptBy: string;
}

const MAX_LENGTH = 64;
const FOREIGN = /[^A-Za-z0-9_-]/g;
const FIRST_DIGITS = 6;
const MORE_DIGITS = 4;
/** With the `_` before the digits, nothing else fits. */
const MAX_DIGITS = MAX_LENGTH - 1;

/** Maps names in both directions. */
export class NameTable {
  /** In the order of the configuration. */
  readonly withheld: readonly WithheldName[];
  readonly #byKey = new Map<string, Map<string, string>>();
  readonly #owners = new Map<string, NameOwner>();

  /** @param withheld names that are not shown */
  constructor(withheld: readonly WithheldName[] = []) {
    this.withheld = withheld;
  }

  /** Adds a name under which something is shown. */
  show(owner: NameOwner, exposed: string): void {
    this.#owners.set(exposed, owner);
    const names = this.#byKey.get(owner.key) ?? new Map<string, string>();
    this.#byKey.set(owner.key, names.set(owner.name, exposed));
  }

  /** The name that clients see; undefined if it is withheld or not listed. */
  exposed(key: string, name: string): string | undefined {
    return this.#byKey.get(key)?.get(name);
  }

  /** The owner of a name that a client uses; undefined if there is none. */
  owner(exposed: string): NameOwner | undefined {
    return this.#owners.get(exposed);
  }

  /** The number of shown names. */
  get size(): number {
    return this.#owners.size;
  }
}

/**
 * Gives a name to everything that the servers of one endpoint list. A single server keeps its names
 * unchanged, unless they are always prefixed. With several servers each name matches `^[A-Za-z0-9_-]{1,64}$`.
 * Names depend on what is listed, not on the order; only with `never`, the first server gets a name that
 * several have.
 * @param members in the order of the configuration, with distinct keys
 * @param options how names are made
 */
export function* exposeNames(
  members: readonly NamedMember[],
  options: NamingOptions,
): StepsTo<NameTable> {
  const owners: NameOwner[] = [];
  for (const { key, names } of members) {
    yield* eachItem(new Set(names), (name) => owners.push({ key, name }));
  }
  if (members.length === 1 && options.prefix !== 'always') {
    const table = new NameTable();
    yield* eachItem(owners, (owner) => table.show(owner, owner.name));
    return table;
  }
  const first = new Map<string, NameOwner>();
  const shared = new Set<string>();
  const withheld: WithheldName[] = [];
  yield* eachItem(owners, (owner) => {
    const before = first.get(owner.name);
    if (before === undefined) first.set(owner.name, owner);
    else {
      shared.add(owner.name);
      withheld.push({ ...owner, keptBy: before.key });
    }
  });
  if (options.prefix === 'never') {
    return yield* withoutCollisions([...first.values()], ({ name }) => name, withheld);
  }
  const isPrefixed = (name: string): boolean => options.prefix === 'always' || shared.has(name);
  const preferred = ({ key, name }: NameOwner): string =>
    isPrefixed(name) ? `${key}${options.separator}${name}` : name;
  return yield* withoutCollisions(owners, preferred);
}

/** One thing, with its wanted name, and the number of digits of its digest in its name. */
class Candidate {
  readonly owner: NameOwner;
  readonly #preferred: string;
  #digest: string | undefined;
  #digits: number;
  /** Its current name. */
  name: string;

  constructor(owner: NameOwner, preferred: string) {
    this.owner = owner;
    this.#preferred = preferred;
    this.#digits = isValid(preferred) ? 0 : FIRST_DIGITS;
    this.name = this.#named();
  }

  get isLongest(): boolean {
    return this.#digits === MAX_DIGITS;
  }

  lengthen(): void {
    const more = this.#digits === 0 ? FIRST_DIGITS : this.#digits + MORE_DIGITS;
    this.#digits = Math.min(more, MAX_DIGITS);
    this.name = this.#named();
  }

  #named(): string {
    if (this.#digits === 0) return this.#preferred;
    this.#digest ??= digestOf(this.owner);
    const suffix = `_${this.#digest.slice(0, this.#digits)}`;
    return this.#preferred.replace(FOREIGN, '_').slice(0, MAX_LENGTH - suffix.length) + suffix;
  }
}

/**
 * All names that collide become longer; none is preferred. So the order can't matter, and a server gains
 * nothing from taking another's name on purpose. It ends, because full digests differ.
 */
function* withoutCollisions(
  owners: readonly NameOwner[],
  preferredNameOf: (owner: NameOwner) => string,
  withheld?: readonly WithheldName[],
): StepsTo<NameTable> {
  const byName = new Map<string, Candidate[]>();
  const add = (candidate: Candidate): void => {
    const same = byName.get(candidate.name);
    if (same === undefined) byName.set(candidate.name, [candidate]);
    else same.push(candidate);
  };
  yield* eachItem(owners, (owner) => add(new Candidate(owner, preferredNameOf(owner))));
  // Only names that were assigned since the last round can collide.
  let given: Iterable<string> = byName.keys();
  for (;;) {
    const colliding: Candidate[] = [];
    yield* eachItem(given, (name) => {
      const same = byName.get(name) ?? [];
      if (same.length > 1) colliding.push(...same);
    });
    if (colliding.every(({ isLongest }) => isLongest)) break;
    yield* eachItem(colliding, (candidate) => {
      byName.delete(candidate.name);
      candidate.lengthen();
    });
    yield* eachItem(colliding, add);
    given = new Set(colliding.map(({ name }) => name));
  }
  const table = new NameTable(withheld);
  yield* eachItem(byName.values(), ([only]) => {
    if (only !== undefined) table.show(only.owner, only.name);
  });
  return table;
}

function isValid(name: string): boolean {
  return name.length > 0 && name.length <= MAX_LENGTH && name.search(FOREIGN) < 0;
}

// UTF-16, because in UTF-8 all lone surrogates are the same.
function digestOf({ key, name }: NameOwner): string {
  return createHash('sha256')
    .update(Buffer.from(`${key}\0${name}`, 'utf16le'))
    .digest('hex');
}
