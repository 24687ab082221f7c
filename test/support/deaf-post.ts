import { connect, type Socket } from 'node:net';

/** POSTs on a connection that nothing is read from. */
export function deafPost(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Socket> {
  const { hostname, port, pathname } = new URL(url);
  const all = { host: `${hostname}:${port}`, 'content-length': String(body.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`, () => {
        socket.on('error', () => undefined);
        resolve(socket);
      });
    });
    socket.once('error', reject);
    socket.pause();
  });
}
