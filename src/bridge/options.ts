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
        'What states of modern clients are sealed with. The first seals, all of them open, so put a ' +
        'new one in front to rotate. Without one a random key is made at each start.',
    }),
  ttl: duration(1).prefault('10m').meta({
    description: "How long a modern client may take to answer a server's questions.",
  }),
}).transform(({ keys, ttl }): StateOptions => ({ keys, ttlMs: ttl }));
