// The servers of the gateway under attack, as its configuration has them.
import { join } from 'node:path';
import type { Entries } from './attack.ts';

type Server = Entries[string];

export const ECHO_SERVER = join(import.meta.dirname, '..', 'bench', 'echo-server.ts');
export const SERVER = join(import.meta.dirname, 'servers', 'server.ts');

/** The server of the benchmark, which does the least that a server can. */
export function echoServer(): Server {
  return { command: process.execPath, args: [ECHO_SERVER] };
}

/** The server of this folder with these arguments. */
export function server(...args: string[]): Server {
  return { command: process.execPath, args: [SERVER, ...args] };
}

/** One that does something wrong from its start on: it is started when the attack calls it. */
export function badServer(kind: string): Entries {
  return { bad: { ...server('--misbehave', kind), start: 'lazy' } };
}

/** Its endpoint. */
export const BAD = '/servers/bad';

/** The endpoint of the remote server. */
export const REMOTE = '/servers/remote';

/** A remote server on this port. */
export function remoteServer(port: number): Entries {
  return { remote: { url: `http://127.0.0.1:${port}/mcp`, start: 'lazy' } };
}
