// Servers of somebody's own that flood the gateway or answer with what is hard to read. The victim calls
// another server.
import type { Attack } from './attack.ts';
import { BAD, badServer } from './servers.ts';
import type { Target } from './target.ts';
import { exchange, MEBI, message, modernPost, openSession, post, Statuses, write } from './wire.ts';

/** Starts the server, and again when it was stopped. */
async function start(target: Target): Promise<string> {
  let sessions = 0;
  await target.begin();
  const tries = await target.repeat(1, async () => {
    // It may be slow to answer, being busy with other things.
    await Promise.race([
      openSession(target, BAD, 'attacker').then(() => {
        sessions += 1;
      }),
      target.wait(2000),
    ]);
    await target.wait(500);
  });
  return `called ${tries} times, answered ${sessions} times`;
}

/** One that floods. */
function flooding(kind: string, about: string): Attack {
  return { name: `server-${kind}`, about, servers: badServer(kind), run: start };
}

/** One whose answer to a request is hard to read. */
function answering(kind: string, about: string, method: string, params: object): Attack {
  return {
    name: `server-${kind}`,
    about,
    servers: badServer(kind),
    run: async (target) => {
      const headers = await openSession(target, BAD, 'attacker');
      const body = message(method, params, 1);
      const request = post(target, `${BAD}/mcp`, body, { key: 'attacker', headers });
      const statuses = new Statuses();
      await target.begin();
      await target.repeat(2, async () => statuses.add(await exchange(target, request)));
      return String(statuses);
    },
  };
}

/** The same where the list is also merged with those of others. */
function listing(kind: string, about: string): Attack {
  return {
    name: `server-${kind}`,
    about,
    servers: badServer(kind),
    run: async (target) => {
      const requests = await Promise.all(
        [BAD, ''].map(async (path) => {
          const headers = await openSession(target, path, 'attacker');
          const body = message('tools/list', {}, 1);
          return post(target, `${path}/mcp`, body, { key: 'attacker', headers });
        }),
      );
      const statuses = new Statuses();
      await target.begin();
      await target.repeat(2, async (lane) => {
        const request = requests[lane];
        if (request !== undefined) statuses.add(await exchange(target, request));
      });
      return String(statuses);
    },
  };
}

const CALL = { name: 'echo', arguments: {} };

/** One that asks its client what is large, and does not answer before the client goes away. */
function asking(kind: string, about: string, isModern: boolean): Attack {
  const capabilities = { elicitation: {}, sampling: {} };
  return {
    name: `server-${kind}${isModern ? '-modern' : ''}`,
    about,
    servers: badServer(kind),
    run: async (target) => {
      const headers = await openSession(target, BAD, 'attacker', { capabilities });
      const meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
      const request = isModern
        ? modernPost(target, BAD, 'tools/call', CALL, { key: 'attacker', meta })
        : post(target, `${BAD}/mcp`, message('tools/call', CALL, 1), { key: 'attacker', headers });
      let bytes = 0;
      await target.begin();
      const calls = await target.repeat(2, async () => {
        const socket = await target.connect();
        socket.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        await write(socket, request);
        await target.wait(1000);
        socket.destroy();
      });
      return `${calls} calls, ${(bytes / MEBI).toFixed(0)} MiB of questions`;
    },
  };
}

export const BAD_SERVERS: readonly Attack[] = [
  flooding('newlines', 'writes newlines only'),
  flooding('spaces', 'writes lines of spaces only'),
  flooding('stderr', 'writes to stderr as fast as it can'),
  flooding('stderr-newlines', 'writes newlines to stderr'),
  flooding('garbage', 'writes lines that are no messages'),
  flooding('lists-changed', 'says again and again that its list of tools has changed'),
  flooding('log-messages', 'sends log messages'),
  flooding('large-log-messages', 'sends log messages of 1 MB'),
  flooding('unknown-progress', 'reports progress of calls that nobody made'),
  flooding('resources-updated', 'says that a resource was updated'),
  flooding('pings', 'sends the request ping'),
  flooding('questions', 'asks for sampling outside of any call'),
  flooding('unknown-answers', 'answers requests that nobody sent'),
  flooding('endless-line', 'writes a line that has no end'),
  flooding('single-bytes', 'writes a message a byte at a time'),
  flooding('crash-loop', 'ends as soon as it has been initialized'),
  listing('list-of-empty-objects', 'tools/list of 15.9 MB of {}'),
  listing('list-of-tools', 'tools/list of 200,000 tools'),
  listing('list-of-one-tool', 'tools/list with one tool of 15 MB'),
  listing('list-of-deep-schemas', 'tools/list with schemas that are 100,000 deep'),
  listing('list-of-escaped-names', 'tools/list with names that are all escapes'),
  listing('endless-pages', 'tools/list that always has a next page'),
  {
    name: 'server-resources-marks',
    about: 'resources/list with URIs of 80 kB of combining characters',
    servers: badServer('resources-marks'),
    run: async (target) => {
      const headers = await openSession(target, '', 'attacker');
      const body = message('resources/list', {}, 1);
      const request = post(target, '/mcp', body, { key: 'attacker', headers });
      const statuses = new Statuses();
      await target.begin();
      await target.repeat(2, async () => statuses.add(await exchange(target, request)));
      return String(statuses);
    },
  },
  answering(
    'content-of-empty-objects',
    'answers calls with 5,300,000 times {}',
    'tools/call',
    CALL,
  ),
  answering('content-of-links', 'answers calls with 100,000 links', 'tools/call', CALL),
  answering(
    'deep-answer',
    'answers calls with 2,000,000 arrays inside each other',
    'tools/call',
    CALL,
  ),
  answering('escaped-answer', 'answers calls with 15.9 MB of escapes', 'tools/call', CALL),
  answering('large-answer', 'answers calls with 15.9 MB of text', 'tools/call', CALL),
  answering('large-error', 'answers calls with an error of 15.9 MB', 'tools/call', CALL),
  asking('large-elicitation', 'asks for elicitation with 15 MB, twice for each call', false),
  asking('large-elicitation', 'the same toward a client of the stateless era', true),
  asking('large-sampling', 'asks for sampling with 15 MB, twice for each call', false),
  asking('large-sampling', 'the same toward a client of the stateless era', true),
  answering('large-errors', 'answers calls with errors of 1,000,000 objects', 'tools/call', CALL),
  answering(
    'batch-answers',
    'answers in batches: empty, of numbers, of two of 7.8 MB of escapes',
    'tools/call',
    CALL,
  ),
  answering('progress-flood', 'reports 1,000,000 steps of progress', 'tools/call', {
    ...CALL,
    _meta: { progressToken: 'p' },
  }),
];
