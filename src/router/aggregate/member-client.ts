// A client, as one server of a merged endpoint sees it. URIs in messages of the server are translated for the
// client.
import { type ExposeUri, exposeServerRequest } from '../../catalog/resource-texts.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { jsonBytes } from '../../jsonrpc/serialize.ts';
import { replaceSpan } from '../../jsonrpc/splice.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { RESOURCE_UPDATED } from '../../mcp/methods.ts';
import type { Downstream, ServerRequest } from '../../ports/downstream.ts';
import { ForwardedServerRequest } from '../../ports/forwarded-request.ts';
import type { Principal } from '../../ports/principal.ts';
import type { Request } from '../../ports/request.ts';

/** Translates the URIs of one server for its client. */
export interface MemberUris {
  /** The client's URI for a URI of the server. */
  readonly expose: ExposeUri;
  /** The same for notifications of changes: the URI with which the client subscribed. */
  readonly told: ExposeUri;
  /** Whether the client may use a URI of the server. */
  readonly shows: (uri: string) => boolean;
}

/** A client at one server. */
export class MemberClient implements Downstream {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info: unknown;
  readonly logThreshold?: number;
  /** The client's URI for a URI of the server. */
  readonly expose: ExposeUri;
  readonly #client: Downstream;
  readonly #told: MemberUris['told'];
  readonly #shows: MemberUris['shows'];
  /** Server requests with changed URIs, which the client has got instead. */
  readonly #reworded = new WeakMap<ServerRequest, ServerRequest>();

  constructor(client: Downstream, { expose, told, shows }: MemberUris) {
    this.#client = client;
    this.expose = expose;
    this.#told = told;
    this.#shows = shows;
    this.version = client.version;
    this.capabilities = client.capabilities;
    this.info = client.info;
    if (client.logThreshold !== undefined) this.logThreshold = client.logThreshold;
  }

  /** The current one: a session may continue with a newer token. */
  get principal(): Principal {
    return this.#client.principal;
  }

  get absentSinceMs(): number | undefined {
    return this.#client.absentSinceMs;
  }

  get hasListened(): boolean | undefined {
    return this.#client.hasListened;
  }

  notify(message: Buffer, kind: string | undefined): void {
    if (kind?.startsWith(RESOURCE_UPDATED) !== true) {
      this.#client.notify(message, kind);
      return;
    }
    const { uriStart, uriEnd } = scan(message);
    const uri = parseString(message, uriStart, uriEnd);
    // A private server may send updates of resources that were not subscribed.
    if (uri === undefined || !this.#shows(uri)) return;
    const exposed = this.#told(uri);
    const text = replaceSpan(message, uriStart, uriEnd, jsonBytes(exposed));
    this.#client.notify(text, `${RESOURCE_UPDATED} ${exposed}`);
  }

  ask(serverRequest: ServerRequest, request: Request | undefined): void {
    this.#client.ask(this.#worded(serverRequest), request);
  }

  withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void {
    this.#client.withdraw(this.#reworded.get(serverRequest) ?? serverRequest, notice);
  }

  #worded(serverRequest: ServerRequest): ServerRequest {
    const { bytes } = serverRequest.frame;
    const text = exposeServerRequest(bytes, this.expose);
    if (text === bytes) return serverRequest;
    const reworded = new ForwardedServerRequest(serverRequest, scan(text));
    this.#reworded.set(serverRequest, reworded);
    return reworded;
  }
}
