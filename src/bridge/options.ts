// What a user may say about the states that modern clients bring back (`state:`): the type after
// load, and the schema that makes it from the file.
import { duration, list, section, text } from '../base/options.ts';

/** Sealed states of calls that wait for their client. */
export interface StateOptions {
  /** Texts that keys are made of; the first seals, all open. None: a random key. */
  readonly keys: readonly string[];
  /** How long a client may take to answer a server's questions. */
  readonly ttlMs: number;
}

/** `state:` */
export const stateSchema = section({
  keys: list(text('a text of 32 characters or more').min(32), 'a list of keys')
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
}).transform(({ keys, ttl }): StateOptions => ({ keys, ttlMs: ttl }));
