/**
 * An authorization server as far as a resource server sees one: public keys over HTTP, and the tokens
 * that it signs.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactSign, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

export interface TokenOptions {
  readonly kid?: string;
  readonly typ?: string;
  /** Lifetime in seconds; undefined leaves `exp` out. */
  readonly seconds?: number | undefined;
  readonly header?: Readonly<Record<string, unknown>>;
}

export class TokenIssuer {
  readonly #server: Server;
  readonly #keys = new Map<string, PrivateKey>();
  #published: unknown[] = [];
  /** How often the keys were asked for. */
  fetches = 0;
  /** Answers with this status instead of the keys. */
  status = 200;
  /** With a status of 3xx: the path where the keys are. */
  location: string | undefined;
  /** Stands in the document besides the keys. */
  padding = '';

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<TokenIssuer> {
    const server = createServer();
    const issuer = new TokenIssuer(server);
    server.on('request', (request, response) => {
      issuer.fetches++;
      const { location, padding } = issuer;
      const headers = location === undefined ? {} : { location };
      const status = request.url === location ? 200 : issuer.status;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ keys: issuer.#published, padding }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await issuer.addKey('k1');
    return issuer;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get jwksUrl(): string {
    return `${this.issuer}/jwks`;
  }

  /** The public key of `kid`, as it is published. */
  get published(): readonly unknown[] {
    return this.#published;
  }

  async addKey(kid: string, algorithm = 'ES256'): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(algorithm);
    this.#keys.set(kid, privateKey);
    this.#published = [...this.#published, { ...(await exportJWK(publicKey)), kid, use: 'sig' }];
  }

  /** Signs a token. */
  async token(claims: JWTPayload, options: TokenOptions = {}): Promise<string> {
    const { kid = 'k1', typ = 'at+jwt', header = {} } = options;
    const key = this.#keys.get(kid);
    if (key === undefined) throw new Error(`no key ${kid}`);
    const jwt = new SignJWT({ iss: this.issuer, sub: 'alice', client_id: 'app', ...claims });
    jwt.setProtectedHeader({ alg: 'ES256', kid, typ, ...header });
    if (claims.iat === undefined) jwt.setIssuedAt();
    const seconds = 'seconds' in options ? options.seconds : 300;
    if (seconds !== undefined) jwt.setExpirationTime(Math.floor(Date.now() / 1000) + seconds);
    // A signer has to know the headers that it calls critical.
    return await jwt.sign(key, { crit: { x: true } });
  }

  /** Signs a payload as it is written. */
  async sign(payload: string): Promise<string> {
    const key = this.#keys.get('k1');
    if (key === undefined) throw new Error('no key');
    const jws = new CompactSign(Buffer.from(payload));
    return await jws.setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'at+jwt' }).sign(key);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}
