// Guards of connections: how much time they get, how many there may be, and what one of them may ask for.
import type { Guard } from './guard.ts';

const OPEN_SOCKETS = 'src/http/open-sockets.ts';
const NODE_SERVER = 'src/listener/node-server.ts';
const REQUEST_TURNS = 'src/http/request-turns.ts';
const UPGRADE = 'src/listener/websocket/upgrade.ts';
const OPEN_SOCKETS_TESTS = 'test/unit/http/open-sockets.test.ts';
const BOUNDS_TESTS = 'test/unit/listener/http-bounds.test.ts';
const TURN_INPUT = 'src/listener/websocket/turn-input.ts';
const CLIENT_TURNS = 'src/http/client-turns.ts';
const WEBSOCKET_TURNS_TESTS = 'test/unit/listener/websocket-turns.test.ts';
const REQUEST_TURNS_TESTS = 'test/unit/http/request-turns.test.ts';

export const connectionGuards: readonly Guard[] = [
  {
    name: 'listener/headers-time',
    file: NODE_SERVER,
    find: 'headersTimeout: bounds.headersMs',
    replace: 'headersTimeout: 60_000',
    test: [BOUNDS_TESTS, 'never end their headers'],
  },
  {
    name: 'listener/body-time',
    file: NODE_SERVER,
    find: 'requestTimeout: bounds.requestMs',
    replace: 'requestTimeout: 300_000',
    test: [BOUNDS_TESTS, 'never end their body'],
  },
  {
    name: 'listener/connections',
    file: OPEN_SOCKETS,
    find: "this.#open.size >= connections && !this.#closeIdle(this.#open, 'all')",
    replace: 'false',
    test: [BOUNDS_TESTS, 'beyond the cap'],
  },
  {
    name: 'listener/turns-on-a-connection',
    file: REQUEST_TURNS,
    find: 'if (response.socket !== null) {',
    replace: 'if (response.writable) {',
    test: ['test/integration/pipelined-requests.test.ts', 'behind an event stream'],
  },
  {
    name: 'listener/waiting-on-a-connection',
    file: REQUEST_TURNS,
    find: 'const MAX_WAITING = 8;',
    replace: 'const MAX_WAITING = 80;',
    test: [REQUEST_TURNS_TESTS, 'has nine requests read at a time'],
  },
  {
    name: 'listener/turns-of-an-address',
    file: CLIENT_TURNS,
    find: 'new TurnQuota(TURN_OF_CLIENT, strangers)',
    replace: 'new TurnQuota(100 * TURN_OF_CLIENT)',
    test: [REQUEST_TURNS_TESTS, 'so many requests in a turn'],
  },
  {
    name: 'listener/turns-of-all-clients',
    file: CLIENT_TURNS,
    find: 'new TurnQuota(TURN_OF_CLIENT, known)',
    replace: 'new TurnQuota(TURN_OF_CLIENT)',
    test: [WEBSOCKET_TURNS_TESTS, 'of many principals'],
  },
  {
    name: 'listener/turns-of-known-clients',
    file: REQUEST_TURNS,
    find: 'connection.quota = quota ?? connection.addressQuota;',
    replace: 'connection.quota = connection.addressQuota;',
    test: [REQUEST_TURNS_TESTS, 'is served between strangers'],
  },
  {
    name: 'listener/refused-upgrades',
    file: UPGRADE,
    find: "socket.once('finish', () => socket.destroy());",
    replace: '',
    also: [
      {
        file: UPGRADE,
        find: 'after(LINGER_MS, () => socket.destroy())',
        replace: 'after(LINGER_MS, () => undefined)',
      },
    ],
    test: [BOUNDS_TESTS, 'an upgrade that is refused'],
  },
  {
    name: 'listener/rest-after-too-many',
    file: REQUEST_TURNS,
    find: 'socket.pause();\n      after(REST_MS',
    replace: 'after(REST_MS',
    test: [REQUEST_TURNS_TESTS, 'asked for too much'],
  },
  {
    name: 'websocket/turn-of-a-connection',
    file: TURN_INPUT,
    find: 'const TURN_OF_CONNECTION = 64 * LEAST_COST;',
    replace: 'const TURN_OF_CONNECTION = 6_400 * LEAST_COST;',
    also: [
      {
        file: TURN_INPUT,
        find: 'new TurnQuota(TURN_OF_CONNECTION, owner)',
        replace: 'new TurnQuota(TURN_OF_CONNECTION)',
      },
    ],
    test: [WEBSOCKET_TURNS_TESTS, 'on one connection are taken in order'],
  },
  {
    name: 'websocket/turn-of-a-principal',
    file: TURN_INPUT,
    find: 'new TurnQuota(TURN_OF_CONNECTION, owner)',
    replace: 'new TurnQuota(TURN_OF_CONNECTION)',
    test: [WEBSOCKET_TURNS_TESTS, 'on all connections of one principal'],
  },
  {
    name: 'websocket/close-of-too-large',
    file: 'src/listener/websocket/connection.ts',
    find: "socket.on('error', () => this.#drop());",
    replace: "socket.on('error', () => socket.terminate());",
    test: [WEBSOCKET_TURNS_TESTS, 'always closed with 1009'],
  },
  {
    name: 'listener/idle-connections',
    file: OPEN_SOCKETS,
    find: 'if (!connection.isIdle(nowMs)) continue;',
    replace: '',
    test: [OPEN_SOCKETS_TESTS, 'the one that was not used for longest'],
  },
  {
    name: 'listener/connections-of-an-address',
    file: OPEN_SOCKETS,
    find: "own.size >= perAddress && !this.#closeIdle(own, 'address')",
    replace: 'false',
    test: [OPEN_SOCKETS_TESTS, 'one address has so many'],
  },
  {
    name: 'limits/sessions-in-use',
    file: 'src/session/session.ts',
    find: 'return this.pending > 0 || this.notificationWriter.isOpen ? undefined : this.#lastUsedMs;',
    replace: 'return this.#lastUsedMs;',
    test: [
      'test/integration/access/limits.test.ts',
      'may have so many sessions with a stream or a call',
    ],
  },
];
