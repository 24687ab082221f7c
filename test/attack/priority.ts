// Who gets a processor first, so that figures can be had on a machine that has other work.
import { setPriority } from 'node:os';

/** How the gateway is started: before other work of the machine, behind those who measure it. */
export const PREFERRED = ['nice', '-n', '-5'];
const FIRST = -10;
/** Not so far behind that nothing is sent on a busy machine. */
const BEHIND = 5;

/** What measures is not to wait, where the user may say so. */
export function goFirst(pid: number): void {
  try {
    setPriority(pid, FIRST);
  } catch {
    // Only root may; without it figures are worse on a busy machine.
  }
}

/** An attack, or its server, is not to slow what is measured. */
export function stayBehind(): void {
  setPriority(BEHIND);
}
