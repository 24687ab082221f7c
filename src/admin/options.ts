// Options of the admin listener (docs/configuration.md#admin).
import { isLoopbackHost } from '../base/loopback.ts';
import {
  address,
  filledText,
  flag,
  integer,
  isMap,
  type Options,
  section,
} from '../base/options.ts';

/** `admin:` */
export const adminSchema = section({
  host: address()
    .prefault('127.0.0.1')
    .describe('Address to listen on. An address that is not loopback needs `allowRemote`.'),
  port: integer(0, 65_535)
    .prefault(9464)
    .describe('TCP port. 0 lets the system choose a free port.'),
  allowRemote: flag()
    .prefault(false)
    .describe(
      'Allow an address that is not loopback. Metrics contain the names of your servers. Make sure that only your monitoring can reach the port.',
    ),
  socket: filledText('the path of a socket')
    .optional()
    .describe(
      'Path of a Unix socket to listen on, instead of `host` and `port`. Only its owner can connect.',
    ),
}).refine((value) => isSafeHost(value.host, value.allowRemote), {
  path: ['host'],
  when: isMap,
  error:
    'is reachable from other machines: must be a loopback address such as 127.0.0.1, or set admin.allowRemote: true if only the monitoring reaches the port',
});

/** Paths are absolute. */
export type AdminOptions = Options<typeof adminSchema>;

// For a host of a wrong type there is another error already.
function isSafeHost(value: unknown, isAllowed: unknown): boolean {
  return typeof value !== 'string' || isAllowed === true || isLoopbackHost(value);
}
