// Names of tools and prompts where one endpoint shows several servers
// (docs/protocol.md#merged-endpoints): valid for the strictest model API, free of collisions, and the
// same whatever the order of the servers. A name is found again in the table, never by taking it
// apart.
import { createHash } from 'node:crypto';
import { eachItem, type StepsTo } from '../base/steps.ts';

/** When the name of a tool or prompt is put behind its server's. */
export type PrefixMode = 'always' | 'never' | 'onConflict';

/** How names are made. */
export interface NamingOptions {
  readonly prefix: PrefixMode;
  /** Between the server's name and its tool's. */
  readonly separator: string;
}

/** What one server lists. */
export interface NamedMember {
  /** The server's name in the configuration. */
  readonly key: string;
  /** As the server gives them, or as its own shaping renames them. */
  readonly names: readonly string[];
}

/** Whose a name is. */
export interface NameOwner {
  readonly key: string;
  /** As in `NamedMember.names`. */
  readonly name: string;
}

/** A name that isn't shown, since another server has it (`prefix: never`). */
export interface WithheldName extends NameOwner {
  /** The server that keeps the name. */
  readonly keptBy: string;
}

const MAX_LENGTH = 64;
const FOREIGN = /[^A-Za-z0-9_-]/g;
const FIRST_DIGITS = 6;
const MORE_DIGITS = 4;
/** With the `_` in front nothing else has room. */
const MAX_DIGITS = MAX_LENGTH - 1;

/** Both directions of a naming. */
export class NameTable {
  /** In the order of the configuration. */
  readonly withheld: readonly WithheldName[];
  readonly #byKey = new Map<string, Map<string, string>>();
  readonly #owners = new Map<string, NameOwner>();

  /** @param withheld names that are not shown */
  constructor(withheld: readonly WithheldName[] = []) {
    this.withheld = withheld;
  }

  /** Shows a name as another one. */
  show(owner: NameOwner, exposed: string): void {
    this.#owners.set(exposed, owner);
    const names = this.#byKey.get(owner.key) ?? new Map<string, string>();
    this.#byKey.set(owner.key, names.set(owner.name, exposed));
  }

  /** What clients see, or undefined when the name is withheld or not listed. */
  exposed(key: string, name: string): string | undefined {
    return this.#byKey.get(key)?.get(name);
  }

  /** Whose a name that a client uses is, or undefined when nobody's. */
  owner(exposed: string): NameOwner | undefined {
    return this.#owners.get(exposed);
  }

  /** How many names are shown. */
  get size(): number {
    return this.#owners.size;
  }
}

/**
 * Names everything that the servers of one endpoint list. One server keeps its names untouched
 * unless they are always prefixed; of several, each name matches `^[A-Za-z0-9_-]{1,64}$`. The name
 * of one thing depends on what is listed, not on the order; only `never` gives a name that several
 * servers have to the first.
 *
 * @param members in the order of the configuration, keys distinct
 * @param options how
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

/** One thing, what it would like to be called, and how much of its digest it has to show. */
class Candidate {
  readonly owner: NameOwner;
  readonly #preferred: string;
  #digest: string | undefined;
  #digits: number;
  /** What it is called for now. */
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
 * Names that collide all get longer, none is preferred: so the order can't matter, and a server that
 * takes another's name on purpose gains nothing. Ends, since digests of all digits are distinct.
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
  // Only names that somebody was given since can collide.
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

// UTF-16, since halves of surrogate pairs are all the same in UTF-8.
function digestOf({ key, name }: NameOwner): string {
  return createHash('sha256')
    .update(Buffer.from(`${key}\0${name}`, 'utf16le'))
    .digest('hex');
}
