// What the process's exit status means (docs/operations.md#start-and-stop). A public contract.

/** Exit statuses. */
export const EXIT = {
  ok: 0,
  /** The configuration can't be used, or what was asked for can't be done. */
  failure: 1,
  /** The command line can't be understood. */
  usage: 2,
  /** A fault of Sluice itself. */
  internal: 70,
} as const;
