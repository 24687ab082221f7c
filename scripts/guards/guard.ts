// What a guard is to `npm run test:guards`: a place in the sources, how it looks without the guard, and
// the test that must notice.

/** One change of the sources. */
export interface Edit {
  /** Relative to the repository. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** One guard, and how to take it away. */
export interface Guard extends Edit {
  /** `area/what`. */
  readonly name: string;
  /** Further changes, where one is not enough. */
  readonly also?: readonly Edit[];
  /** A test file, and a part of the full titles of the tests that must fail. */
  readonly test: readonly [file: string, title: string];
  /** The test is skipped for anybody else than root. */
  readonly needsRoot?: true;
}
