/**
 * HTTP written by hand on a TCP socket, for requests that no HTTP client would send.
 */
import { connect } from 'node:net';
import { within } from './until.ts';

/** Sends `text` to the listener of `url`. @returns all that comes back until it closes the connection. */
export function exchangeRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const answer = new Promise<string>((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
  return within(answer, 10_000, 'end of the raw answer');
}
