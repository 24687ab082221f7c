// What a user may say about whom a child process runs as.
import { z } from 'zod';
import { section } from '../../base/options.ts';
import { isId, type RunAs, resolveUser } from './run-as.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*\$?$/;

const id = z
  .union([z.string(), z.number()], { error: 'must be a name or a number' })
  .refine((value) => (typeof value === 'number' ? isId(value) : NAME.test(value) || isId(value)), {
    error: 'must be a name or a number',
  });

/** `runAs:` */
export const runAsSchema = section({
  user: id.meta({ description: 'User name from /etc/passwd, or user id.' }),
  group: id.optional().meta({
    description: 'Group name from /etc/group, or group id. Default: the primary group of the user.',
  }),
}).transform((value, context): RunAs => {
  const found = resolveUser(value.user, value.group);
  if (typeof found !== 'string') return found;
  context.issues.push({ code: 'custom', message: found, input: value });
  return z.NEVER;
});
