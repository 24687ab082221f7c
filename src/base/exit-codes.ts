// The exit statuses of the process (docs/operations.md#start-and-stop). A public contract.

/** Exit statuses. */
export const EXIT = {
  ok: 0,
  /** The configuration can't be used, or the command failed. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** An error of Sluice itself. */
  internal: 70,
} as const;
