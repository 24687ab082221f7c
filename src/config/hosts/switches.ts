// Whether a server is disabled. All forms are obeyed, and a value that is not understood is an error.
import { type ConfigPath, describe, Findings } from '../issues.ts';

/** The keys with which hosts enable or disable a server, and the value that disables it. */
export const HOST_SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ['disabled', true],
  ['enabled', false],
  ['isActive', false],
]);

/** The gateway's own key. */
export const OWN_SWITCH: ReadonlyMap<string, boolean> = new Map([['disabled', true]]);

/**
 * Whether an entry is disabled.
 * @param found gets errors about these keys; paths start at the entry
 */
export function readSwitches(
  entry: Readonly<Record<string, unknown>>,
  switches: ReadonlyMap<string, boolean>,
  isHidden: (path: ConfigPath) => boolean = () => false,
  found = new Findings(),
): boolean {
  const said: { key: string; isOff: boolean }[] = [];
  for (const [key, off] of switches) {
    const value = entry[key];
    if (value === undefined) continue;
    if (typeof value === 'boolean') {
      said.push({ key, isOff: value === off });
    } else {
      const message = `is ${describe(value, isHidden([key]))}, must be true or false`;
      found.faults.push({ path: [key], at: 'value', message, expected: 'boolean' });
    }
  }
  const [first, ...others] = said;
  const other = others.find(({ isOff }) => isOff !== first?.isOff);
  if (first !== undefined && other !== undefined) {
    found.fault([other.key], `says the opposite of ${first.key}: must be one of the two`, 'key');
  }
  return said.some(({ isOff }) => isOff);
}
