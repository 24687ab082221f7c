// Names of tools and prompts where one endpoint shows several servers
// (docs/protocol.md#merged-endpoints): valid for the strictest model API, free of collisions, and the
// same whatever the order of the servers. A name is found again in the table, never by taking it
// apart.
import { createHash } from 'node:crypto';

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

  /**
   * @param shown each name with what it is shown as
   * @param withheld names that have no such
   */
  constructor(
    shown: Iterable<readonly [NameOwner, string]>,
    withheld: readonly WithheldName[] = [],
  ) {
    this.withheld = withheld;
    for (const [owner, exposed] of shown) {
      this.#owners.set(exposed, owner);
      const names = this.#byKey.get(owner.key) ?? new Map<string, string>();
      this.#byKey.set(owner.key, names.set(owner.name, exposed));
    }
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
export function exposeNames(members: readonly NamedMember[], options: NamingOptions): NameTable {
  const owners = members.flatMap(({ key, names }) =>
    [...new Set(names)].map((name): NameOwner => ({ key, name })),
  );
  if (members.length === 1 && options.prefix !== 'always') {
    return new NameTable(owners.map((owner) => [owner, owner.name]));
  }
  const first = new Map<string, NameOwner>();
  const shared = new Set<string>();
  for (const owner of owners) {
    if (first.has(owner.name)) shared.add(owner.name);
    else first.set(owner.name, owner);
  }
  if (options.prefix === 'never') {
    const withheld = owners.flatMap((owner): WithheldName[] => {
      const keptBy = first.get(owner.name)?.key ?? owner.key;
      return keptBy === owner.key ? [] : [{ ...owner, keptBy }];
    });
    return new NameTable(
      withoutCollisions([...first.values()], ({ name }) => name),
      withheld,
    );
  }
  const isPrefixed = (name: string): boolean => options.prefix === 'always' || shared.has(name);
  const preferred = ({ key, name }: NameOwner): string =>
    isPrefixed(name) ? `${key}${options.separator}${name}` : name;
  return new NameTable(withoutCollisions(owners, preferred));
}

/** One thing, what it would like to be called, and how much of its digest it has to show. */
interface Candidate {
  readonly owner: NameOwner;
  readonly preferred: string;
  digits: number;
}

/**
 * Names that collide all get longer, none is preferred: so the order can't matter, and a server that
 * takes another's name on purpose gains nothing. Ends, since digests of all digits are distinct.
 */
function* withoutCollisions(
  owners: readonly NameOwner[],
  preferredNameOf: (owner: NameOwner) => string,
): Iterable<readonly [NameOwner, string]> {
  const candidates = owners.map((owner): Candidate => {
    const preferred = preferredNameOf(owner);
    return { owner, preferred, digits: isValid(preferred) ? 0 : FIRST_DIGITS };
  });
  for (;;) {
    const byName = Map.groupBy(candidates, nameOf);
    const colliding = [...byName.values()].filter(({ length }) => length > 1).flat();
    if (colliding.every(({ digits }) => digits === MAX_DIGITS)) {
      for (const [name, [only]] of byName) if (only !== undefined) yield [only.owner, name];
      return;
    }
    for (const candidate of colliding) {
      const more = candidate.digits === 0 ? FIRST_DIGITS : candidate.digits + MORE_DIGITS;
      candidate.digits = Math.min(more, MAX_DIGITS);
    }
  }
}

function isValid(name: string): boolean {
  return name.length > 0 && name.length <= MAX_LENGTH && name.search(FOREIGN) < 0;
}

function nameOf({ owner, preferred, digits }: Candidate): string {
  if (digits === 0) return preferred;
  const suffix = `_${digestOf(owner).slice(0, digits)}`;
  return preferred.replace(FOREIGN, '_').slice(0, MAX_LENGTH - suffix.length) + suffix;
}

// UTF-16, since halves of surrogate pairs are all the same in UTF-8.
function digestOf({ key, name }: NameOwner): string {
  return createHash('sha256')
    .update(Buffer.from(`${key}\0${name}`, 'utf16le'))
    .digest('hex');
}
