/**
 * The rows of the compatibility matrix: which client, over which transport, with which server, and
 * which of them can't exist. A reason here is a limit of the protocol or of that client's SDK.
 */
import type { SdkClient, TransportKind, User } from '../sdk-client.ts';
import { connectV1 } from '../sdk-v1.ts';
import { connectV2 } from '../sdk-v2.ts';

/** The clients, as the table names them. */
export const CLIENTS = ['SDK 1.x', 'SDK 2.x modern', 'SDK 2.x legacy'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** The transports; over stdio the client starts `sluice connect URL`. */
export const TRANSPORTS = ['streamable-http', 'sse', 'websocket', 'stdio'] as const;

/** The servers by their names in the configuration. */
export const SERVERS = ['legacy-stdio', 'modern-stdio', 'legacy-remote', 'modern-remote'] as const;
export type ServerName = (typeof SERVERS)[number];

/** One client over one transport at one server. */
export interface Row {
  readonly client: ClientName;
  readonly transport: TransportKind;
  readonly server: ServerName;
}

/** Every combination, the impossible ones too. */
export const ROWS: readonly Row[] = CLIENTS.flatMap((client) =>
  TRANSPORTS.flatMap((transport) => SERVERS.map((server) => ({ client, transport, server }))),
);

/** @returns why there is no such client, if so */
export function impossible({ client, transport }: Row): string | undefined {
  return client !== 'SDK 1.x' && transport === 'websocket'
    ? 'The official SDK 2.x has no WebSocket transport; Sluice serves both eras over it.'
    : undefined;
}

/** A row's name, fit for a URI. */
export function slugOf({ client, transport, server }: Row): string {
  return `${client.replaceAll(' ', '-')}/${transport}/${server}`;
}

/**
 * Rows that share a process on stdio run one after the other: there a server does not say which call
 * made it ask or log, and what becomes of that is not this test's subject. A client on `connect` is
 * modern to the gateway, whatever it is itself, and modern clients of a principal share.
 * @returns what such rows have in common; a row that shares nothing has its own
 */
export function laneOf({ client, transport, server }: Row): string {
  const isModern = client === 'SDK 2.x modern' || transport === 'stdio';
  const isShared = server === 'modern-stdio' || (server === 'legacy-stdio' && isModern);
  return isShared ? server : `${server} ${client} ${transport}`;
}

/** Connects the client of a row to the gateway at `url`. */
export async function connect(
  { client, transport, server }: Row,
  url: string,
  user: User,
): Promise<SdkClient> {
  const base = `${url}/servers/${server}`;
  if (client === 'SDK 1.x') return await connectV1(base, transport, user);
  const mode = client === 'SDK 2.x modern' ? 'modern' : 'legacy';
  const connected = await connectV2(base, transport, user, mode);
  if (connected.era !== mode) throw new Error(`the client is ${connected.era}`);
  return connected;
}
