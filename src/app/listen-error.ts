// Why a listener can't listen on its address, as a sentence for the user.
import type { AdminOptions } from '../admin/options.ts';
import { codeOf } from '../base/errors.ts';
import type { ListenOptions } from '../listener/options.ts';

/** A listener that can't be opened. The message says which one, where, and which option to change. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** The address of a listener, and its options. */
interface ListenAddress {
  readonly listener: 'public' | 'admin';
  readonly address: string;
  readonly hostOption: string;
  readonly portOption: string;
}

/**
 * Opens the public listener.
 * @throws ListenError if it can't listen on its address; other errors of `listen`
 */
export function listenPublicly(
  { host, port }: ListenOptions,
  listen: () => Promise<string>,
): Promise<string> {
  return explained(listen, {
    listener: 'public',
    address: hostAndPort(host, port),
    hostOption: 'listen.host (--host)',
    portOption: 'listen.port (--port)',
  });
}

/** The same for the admin listener. */
export function listenForAdmin(
  { host, port, socket }: AdminOptions,
  listen: () => Promise<string>,
): Promise<string> {
  return explained(listen, {
    listener: 'admin',
    address: socket ?? hostAndPort(host, port),
    hostOption: socket === undefined ? 'admin.host' : 'admin.socket',
    portOption: socket === undefined ? 'admin.port (--admin-port)' : 'admin.socket',
  });
}

async function explained(listen: () => Promise<string>, place: ListenAddress): Promise<string> {
  try {
    return await listen();
  } catch (error) {
    const reason = reasonOf(place, codeOf(error));
    if (reason === undefined) throw error;
    const { listener, address } = place;
    throw new ListenError(`the ${listener} listener can't listen on ${address}: ${reason}`, {
      cause: error,
    });
  }
}

function reasonOf(
  { hostOption, portOption }: ListenAddress,
  code: string | undefined,
): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `another process uses it: stop that process, or change ${portOption}`;
    case 'EACCES':
    case 'EPERM':
      return `the gateway has no right to listen there: change ${portOption}`;
    case 'EADDRNOTAVAIL':
      return `this machine has no such address: change ${hostOption}`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `there is no such host: change ${hostOption}`;
    case 'ENOENT':
    case 'ENOTDIR':
      return `there is no such folder: make it, or change ${hostOption}`;
    default:
      return undefined;
  }
}

function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
