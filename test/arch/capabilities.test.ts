// What reaches outside the program, or decides when something happens, has one home each: so it can
// be found, bounded and replaced in a test. A home that no longer needs its entry fails too.
import { describe, expect, test } from 'vitest';
import { sourceFiles } from './sources.ts';

const files = sourceFiles();

/** Package or built-in module -> the files that may import it. */
const MODULE_HOMES: Readonly<Record<string, RegExp>> = {
  'node:buffer': /^jsonrpc\/scan/,
  // Servers, and the process that checks arguments.
  'node:child_process': /^upstream\/stdio\/|^catalog\/validation\//,
  // Session ids, the id in the address of an HTTP+SSE stream, digests of names, tools and schemas;
  // keys, tickets and hashes of proofs; what claims a process was started with.
  'node:crypto':
    /^auth\/|^base\/(pem-files|sealer)|^data\/sealing-keys|^upstream\/(connection|credential-fingerprint)|^session\/session-ids|^listener\/(http-sse\/|tls-files)|^translate\/(suspended-calls|request-state)|^catalog\/(names|content-digest|pins\/|validation\/)|^config\/hosts\/names/,
  'node:fs':
    /^base\/(bounded-file|folders)|^upstream\/stdio\/(run-as|resource-limits|program|inherited-files)|^cli\/commands|^catalog\/pins\/lock-file|^data\/data-folder|^auth\/key-file|^base\/watched-files|^admin\/admin-server|^observe\/(audit-file|line-writer)/,
  // Tables of the system, which may be long, and what is written while clients are served.
  'node:fs/promises': /^listener\/unacknowledged|^data\/journal/,
  // The admin listener is asked by `sluice reload`.
  'node:http': /^listener\/|^http\/|^admin\/|^app\/admin-client/,
  'node:https': /^listener\//,
  // Parsers of syntaxes that few files have, and the HTTP client, are loaded when they are needed.
  'node:module': /^base\/http-pool|^cli\/commands|^config\/syntax\/json|^config\/syntax\/toml/,
  // What is dialled is checked there.
  'node:dns': /^upstream\/credentials\/dialling/,
  // The addresses of `localhost`, to listen on all of them.
  'node:dns/promises': /^listener\/node-server/,
  // Addresses in base/ and where they are dialled; addresses and sockets in listener/ and admin/; the
  // pipe to a process, which is a socket.
  'node:net':
    /^listener\/|^http\/|^admin\/|^base\/(http-pool|loopback|public-address|stalled-socket)|^upstream\/credentials\/dialling|^upstream\/stdio\/child-/,
  'node:path':
    /^config\/|^cli\/|^upstream\/stdio\/(options|run-as|program)|^base\/folders|^catalog\/pins\/lock-file|^data\/data-folder/,
  // The lock of the data folder, loaded where there is one.
  'node:sqlite': /^data\/folder-lock/,
  'node:stream': /^listener\/|^http\/|^app\/connect|^upstream\/stdio\/child-output/,
  'node:tls': /^listener\/|^http\//,
  'node:util': /^cli\/(args|keys-args)|^base\/same-value/,
  // How much memory there is, and how much of it is used.
  'node:os': /^base\/memory/,
  'node:v8': /^base\/memory/,
  'node:worker_threads': /^catalog\/validation\//,
  // In the validation process only.
  ajv: /^catalog\/validation\/compile-schema/,
  'ajv/dist/2019.js': /^catalog\/validation\/compile-schema/,
  'ajv/dist/2020.js': /^catalog\/validation\/compile-schema/,
  'ajv-formats': /^catalog\/validation\/compile-schema/,
  fastify: /^listener\/http-server|^admin\/admin-server|^http\/light-parts/,
  'jsonc-parser': /^config\/syntax\/json/,
  // Types only, but in tokens, which loads it when there are issuers.
  jose: /^auth\/(tokens|issuer-keys)/,
  minisearch: /^catalog\/search\//,
  pino: /^observe\/(logger|audit)/,
  'prom-client': /^observe\/metrics/,
  'toml-eslint-parser': /^config\/syntax\/toml/,
  // Types only: http-pool loads the part of it that is used.
  undici: /^base\/http-pool|^upstream\/credentials\/dialling/,
  ws: /^listener\/websocket\//,
  yaml: /^config\//,
  // Never on the path of a message.
  zod: /[/-]options\.ts$|^config\/(schema|issues|report)/,
};

/** What a home does, and where. */
interface GlobalHome {
  readonly name: string;
  readonly uses: RegExp;
  readonly home: RegExp;
}

const GLOBAL_HOMES: readonly GlobalHome[] = [
  {
    name: 'timers and the clock',
    uses: /\b(setTimeout|setInterval|setImmediate|Date\.now|new Date|performance\.now)\b/,
    // A socket's own timer, which the system resets when bytes move, is set in stalled-socket;
    // Node's HTTP server sets it too, which request-turns takes back.
    home: /^base\/(clock|stalled-socket)|^http\/request-turns/,
  },
  { name: 'chance', uses: /\bMath\.random\b/, home: /^base\/backoff/ },
  // json-text decodes one string; parse.ts is for the few messages that are really read.
  { name: 'JSON.parse', uses: /\bJSON\.parse\b/, home: /^jsonrpc\/(parse|json-text)/ },
  {
    name: 'JSON.stringify',
    uses: /\bJSON\.stringify\b/,
    // config/ quotes text in messages for people.
    home: /^jsonrpc\/serialize|^config\/issues/,
  },
  { name: 'the environment', uses: /\bprocess\.env\b/, home: /^config\/interpolate/ },
  {
    name: 'the end of the process',
    uses: /\bprocess\.(exit|exitCode)\b/,
    home: /^main|^app\/stop/,
  },
  {
    name: 'signals to the process',
    uses: /\bprocess\.(on|once|ppid)\b/,
    home: /^app\/(run|stop)|^catalog\/validation\//,
  },
  {
    name: 'signals to others',
    uses: /\bprocess\.kill\b/,
    home: /^upstream\/stdio\/|^catalog\/validation\/orphan-guard/,
  },
  { name: 'stdin', uses: /\bprocess\.stdin\b/, home: /^cli\/commands/ },
  { name: 'stdout', uses: /\bprocess\.stdout\b/, home: /^main|^cli\/commands|^app\/stop/ },
  { name: 'stderr', uses: /\bprocess\.stderr\b/, home: /^main|^cli\/commands|^app\/stop/ },
];

/** What nothing here may do at all. */
const NOWHERE = /\bconsole\.|\beval\(|\bnew Function\b|\bfetch\(|\brequire\(|\.readline\b/;

describe('capabilities', () => {
  test('every module has its home', () => {
    const strays = files.flatMap(({ path, imports }) =>
      imports
        .map(({ specifier }) => specifier)
        .filter((name) => !name.startsWith('.') && MODULE_HOMES[name]?.test(path) !== true)
        .map((name) => `${path} imports ${name}`),
    );
    expect(strays).toEqual([]);
  });

  test.for(Object.entries(MODULE_HOMES))('%s is still needed by its home', ([name, home]) => {
    const users = files
      .filter(({ imports }) => imports.some(({ specifier }) => specifier === name))
      .map(({ path }) => path);
    for (const part of alternatives(home)) {
      expect(
        users.some((path) => part.test(path)),
        String(part),
      ).toBe(true);
    }
  });

  test.for(GLOBAL_HOMES)('$name: only in its home', ({ uses, home }) => {
    const users = files.filter(({ code }) => uses.test(code)).map(({ path }) => path);
    expect(users.filter((path) => !home.test(path))).toEqual([]);
    for (const part of alternatives(home)) {
      expect(
        users.some((path) => part.test(path)),
        String(part),
      ).toBe(true);
    }
  });

  test('nothing evaluates text, prints past the log or opens a connection of its own', () => {
    const strays = files.filter(({ code }) => NOWHERE.test(code)).map(({ path }) => path);
    expect(strays).toEqual([]);
  });
});

// `^a|^b` -> `^a`, `^b`: each must be in use. Groups inside a part stay as they are.
function alternatives(home: RegExp): RegExp[] {
  return home.source.split(/\|(?=\^|\\\/options)/).map((part) => new RegExp(part));
}
