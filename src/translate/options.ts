// Options of the states that modern clients return (`state:`).
import { duration, type Options, secretKeys, section } from '../base/options.ts';

/** `state:` */
export const stateSchema = section({
  keys: secretKeys(
    'Keys that encrypt the state which modern clients send back, and ids of tasks, 32 characters or more ' +
      'each. The first key encrypts, all keys decrypt: to rotate, put a new key first. Default: the key in ' +
      '`data`, or without it a random key, made at each start.',
  ),
  ttl: duration(1).prefault('10m').meta({
    description: "How long a modern client may take to answer a server's request.",
  }),
});

/** Options of sealed states, of calls that wait for their client. */
export type StateOptions = Options<typeof stateSchema>;
