/**
 * A WebSocket client on `ws`: one JSON-RPC message per text frame, with the close code and the answer to
 * a refused upgrade within reach.
 */
import { WebSocket } from 'ws';
import { ChannelClient } from './channel-client.ts';
import { within } from './until.ts';
import { parseMessages } from './wire-message.ts';

export interface WsOptions {
  /** Default `['mcp']`. */
  readonly protocols?: string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** The HTTP answer to an upgrade that was refused. */
export class UpgradeRefused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`upgrade refused with ${status}`);
    this.status = status;
  }
}

export class WsClient extends ChannelClient {
  readonly socket: WebSocket;
  /** Resolves with the close code when the socket is closed, by whoever. */
  readonly closed: Promise<number>;

  private constructor(socket: WebSocket) {
    super('WebSocket');
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      for (const message of parseMessages(data.toString('utf8'))) this.messages.push(message);
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', (code) => {
        this.messages.end();
        resolve(code);
      });
    });
  }

  /** Connects (`http:` URLs become `ws:`). @throws UpgradeRefused when the server answers otherwise. */
  static async connect(url: string, options: WsOptions = {}): Promise<WsClient> {
    const { protocols = ['mcp'], headers = {} } = options;
    const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, { headers });
    const client = new WsClient(socket);
    const opened = new Promise<void>((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', reject);
      socket.on('unexpected-response', (request, response) => {
        reject(new UpgradeRefused(response.statusCode ?? 0));
        request.destroy();
      });
    });
    await within(opened, 10_000, 'WebSocket open');
    return client;
  }

  /** The subprotocol that the server chose; empty when none. */
  get protocol(): string {
    return this.socket.protocol;
  }

  sendText(text: string): void {
    this.socket.send(text);
  }

  sendBinary(data: Uint8Array): void {
    this.socket.send(data, { binary: true });
  }

  async close(): Promise<void> {
    this.socket.close(1000);
    await within(this.closed, 10_000, 'WebSocket close');
  }

  /** Drops the connection with no closing handshake. */
  async terminate(): Promise<void> {
    this.socket.terminate();
    await within(this.closed, 10_000, 'WebSocket close');
  }
}
