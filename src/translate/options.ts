// What a user may say about the states that modern clients bring back (`state:`).
import { duration, list, type Options, section, text } from '../base/options.ts';

/** `state:` */
export const stateSchema = section({
  keys: list(
    text('a text of 32 characters or more').min(32).meta({ shown: 'secret' }),
    'a list of keys',
  )
    .prefault([])
    .meta({
      description:
        'Keys that encrypt the state which modern clients send back, 32 characters or more each. The first ' +
        'key encrypts, all keys decrypt: to rotate, put a new key first. Default: a random key, ' +
        'made at each start.',
    }),
  ttl: duration(1).prefault('10m').meta({
    description: "How long a modern client may take to answer a server's request.",
  }),
});

/** Sealed states of calls that wait for their client. */
export type StateOptions = Options<typeof stateSchema>;
