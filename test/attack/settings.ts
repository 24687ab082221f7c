// What `npm run attack` is told to do.
import { parseArgs } from 'node:util';
import type { Attack } from './attack.ts';
import { ATTACKS } from './attacks.ts';

/** All options, for people. */
export const USAGE = `usage: npm run attack -- [options]
  --list           names all attacks and says what they do
  --only NAME...   only attacks whose name begins with one of these
  --from NAME      begins with that one
  --seconds N      how long each takes, 10 by default
  --same           one gateway through all of them, and its memory a minute later
  --gateway DIR    a checkout with other sources of the gateway (with its node_modules)
  --why            also prints what the longest turn did (the probe costs a few percent then)
  --json FILE      also writes everything that was measured`;

/** Options that were read. */
export interface Settings {
  readonly kind: 'help' | 'list' | 'run';
  readonly attacks: readonly Attack[];
  readonly ms: number;
  readonly isSame: boolean;
  readonly checkout: string | undefined;
  readonly asksWhy: boolean;
  readonly jsonFile: string | undefined;
}

/**
 * Reads the command line.
 * @throws TypeError for what makes no sense
 */
export function readSettings(args: string[]): Settings {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      from: { type: 'string', default: '' },
      seconds: { type: 'string', default: '10' },
      same: { type: 'boolean', default: false },
      why: { type: 'boolean', default: false },
      gateway: { type: 'string' },
      json: { type: 'string' },
    },
  });
  const seconds = Number(values.seconds);
  if (!(seconds >= 1 && seconds <= 600)) throw new TypeError('--seconds takes 1 to 600');
  const wanted = [...values.only, ...positionals];
  if (positionals.length > 0 && values.only.length === 0) {
    throw new TypeError(`what is ${positionals[0]}?`);
  }
  const unknown = wanted.find((part) => !ATTACKS.some(({ name }) => name.startsWith(part)));
  if (unknown !== undefined) throw new TypeError(`there is no attack ${unknown}`);
  const first = ATTACKS.findIndex(({ name }) => name.startsWith(values.from));
  if (first === -1) throw new TypeError(`there is no attack ${values.from}`);
  const isWanted = ({ name }: Attack): boolean =>
    wanted.length === 0 || wanted.some((part) => name.startsWith(part));
  return {
    kind: values.help ? 'help' : values.list ? 'list' : 'run',
    attacks: ATTACKS.slice(first).filter(isWanted),
    ms: seconds * 1000,
    isSame: values.same,
    checkout: values.gateway,
    asksWhy: values.why,
    jsonFile: values.json,
  };
}
