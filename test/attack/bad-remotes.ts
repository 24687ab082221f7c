// Remote servers of somebody's own that flood the gateway, answer slowly, or with what is hard to read.
import type { Attack } from './attack.ts';
import { REMOTE } from './servers.ts';
import type { Target } from './target.ts';
import { message, openSession, post, write } from './wire.ts';

const CALL = message('tools/call', { name: 'echo', arguments: {} }, 1);

/** Calls it from several sides; a call that has no answer is given up after a while. */
async function callAgain(target: Target): Promise<string> {
  // A server that can't even be opened is called all the same.
  const headers = await openSession(target, REMOTE, 'attacker').catch(() => '');
  const request = post(target, `${REMOTE}/mcp`, CALL, { key: 'attacker', headers });
  let answered = 0;
  await target.begin();
  const calls = await target.repeat(20, async () => {
    const socket = await target.connect();
    const answer = new Promise<void>((resolve) => {
      socket.once('data', () => {
        answered += 1;
        resolve();
      });
    });
    await write(socket, request);
    await Promise.race([answer, target.wait(2000)]);
    socket.destroy();
  });
  return `${calls} calls, ${answered} of them were answered`;
}

function remote(kind: string, about: string): Attack {
  return { name: `remote-${kind}`, about, remote: kind, run: callAgain };
}

export const BAD_REMOTES: readonly Attack[] = [
  remote('head-drip', 'sends the head of its answers a byte at a time'),
  remote('body-drip', 'sends its answers a byte at a time'),
  remote('event-drip', 'sends comments on its streams and never an answer'),
  remote('silent', 'answers nothing after the handshake'),
  remote('data-flood', 'floods its streams with data lines of an event that never ends'),
  remote('comment-flood', 'floods its streams with comments'),
  remote('newline-flood', 'floods its streams with newlines'),
  remote('empty-event-flood', 'floods its streams with empty events'),
  remote('event-flood', 'floods its streams with log messages'),
  remote('field-flood', 'floods its streams with other fields'),
  remote('question-flood', 'floods its streams with questions'),
  remote('endless-line', 'floods its streams with a line that has no end'),
  remote('stream-ends', 'ends its streams at once and wants them opened again at once'),
  remote('redirects', 'sends redirects'),
  remote('closes-connections', 'closes its connections'),
  remote('session-lost', 'says that the session is gone'),
  remote('large-headers', 'sends 14 kB of headers'),
  remote('content-of-empty-objects', 'answers calls with 5,300,000 times {}'),
  remote('compressed-bomb', 'answers calls with 200 MB of spaces, compressed'),
];
