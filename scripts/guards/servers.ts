// Guards towards servers: what a child process gets and may take, and where a remote server can lead.
import type { Guard } from './guard.ts';

const CHILD = 'src/upstream/stdio/child-process.ts';
const CHANNEL = 'src/upstream/stdio/stdio-channel.ts';
const HTTP_ENDPOINT = 'src/upstream/remote/http-endpoint.ts';
const BUDGET = 'src/upstream/process-budget.ts';
const DIALLING = 'src/upstream/credentials/dialling.ts';
const DIALLING_TESTS = 'test/unit/upstream/credentials/dialling.test.ts';
const SSE = 'src/upstream/http-sse/sse-channel.ts';
const LEAK = '(globalThis as { leak?: string }).leak';
const BUDGET_TESTS = 'test/unit/upstream/process-budget.test.ts';
const PROCESS_TESTS = 'test/integration/processes.test.ts';
const END_TESTS = 'test/integration/gateway-end.test.ts';
const CONTAINED_TESTS = 'test/integration/contained-processes.test.ts';
const LEGACY_TESTS = 'test/integration/remote-legacy.test.ts';
const SSE_TESTS = 'test/integration/remote-sse.test.ts';

/** Keeps what a client authenticates with where it does not belong. */
const LEAKING = {
  file: 'src/listener/gatekeeper.ts',
  find: 'if (guards === undefined) return ADMIT_ANYBODY;',
  replace: `${LEAK} = request.headers.authorization ?? '';\n    if (guards === undefined) return ADMIT_ANYBODY;`,
};

export const serverGuards: readonly Guard[] = [
  {
    name: 'shared/recent-callers',
    file: 'src/mux/recent-callers.ts',
    find: 'return nowMs - lastMs < RECENT_MS;',
    replace: 'return nowMs < lastMs;',
    test: ['test/integration/principals-sharing.test.ts', 'reaches nobody else: answered'],
  },
  {
    name: 'shared/watched-bytes',
    file: 'src/upstream/subscriptions.ts',
    find: 'if (own.bytes + bytes > MAX_CLIENT_BYTES) return',
    replace: 'if (own.bytes < 0) return',
    test: ['test/unit/upstream/instance-lease.test.ts', 'watches 256 KiB of URIs'],
  },
  {
    name: 'shared/one-listen',
    file: 'src/upstream/upstream-subscriptions.ts',
    find: 'this.#next ??= this.#openNext();\n    return this.#next;',
    replace: 'return this.#open();',
    test: ['test/unit/upstream/upstream-subscriptions.test.ts', 'once for all that come together'],
  },
  {
    name: 'shared/recent-sessions',
    file: 'src/upstream/fan-out.ts',
    find: 'if (this.#subscribers.delete(subscriber)) this.recent.note(subscriber.client, monotonicMs());',
    replace: 'this.#subscribers.delete(subscriber);',
    test: ['test/unit/upstream/instance-lease.test.ts', 'that left counts for a while'],
  },
  {
    name: 'child/environment',
    file: 'src/upstream/stdio/environment.ts',
    find: 'const result: Record<string, string> = {};',
    replace: 'const result = { ...own } as Record<string, string>;',
    test: [PROCESS_TESTS, '(E04)'],
  },
  {
    name: 'child/no-shell',
    file: CHILD,
    find: 'detached: true,',
    replace: 'detached: true,\n      shell: true,',
    test: [PROCESS_TESTS, '(E03)'],
  },
  {
    name: 'child/descriptors',
    file: CHILD,
    find: "stdio: ['pipe', 'pipe', 'pipe'],",
    replace: "stdio: ['pipe', 'pipe', 'pipe', 2],",
    test: [CONTAINED_TESTS, '(E06)'],
  },
  {
    name: 'child/ends-with-the-gateway',
    file: CHILD,
    find: 'if (this.pid !== undefined) watcher.add(',
    replace: 'if (this.pid === 0) watcher.add(',
    test: [END_TESTS, 'ignore EOF and TERM, and what they started'],
  },
  {
    name: 'child/watcher-is-replaced',
    file: 'src/upstream/stdio/group-watcher.ts',
    find: 'if (this.#shell === undefined && this.#groups.size > 0) this.#start();',
    replace: '',
    test: [END_TESTS, 'whatever happened to the watcher before'],
  },
  {
    name: 'child/inherited-descriptors',
    file: CHILD,
    find: 'closeInheritedFiles();',
    replace: 'void closeInheritedFiles;',
    test: [CONTAINED_TESTS, 'no file that the gateway was started with'],
  },
  {
    name: 'child/run-as',
    file: CHILD,
    find: '...(command.runAs && { uid: command.runAs.uid, gid: command.runAs.gid }),',
    replace: '',
    test: [CONTAINED_TESTS, 'is that user, without other groups'],
    needsRoot: true,
  },
  {
    name: 'child/limits',
    file: CHANNEL,
    find: '[...limitingWords(resources), found, ...behind]',
    replace: '[...limitingWords({ ...resources, openFiles: undefined }), found, ...behind]',
    test: [CONTAINED_TESTS, 'are the system’s'],
  },
  {
    name: 'server/share-of-a-principal',
    file: 'src/upstream/call-queue.ts',
    find: 'if (overQuota !== undefined && quotaKeyOf(request.client.principal) === overQuota) return false;',
    replace: '',
    test: ['test/unit/upstream/call-queue.test.ts', 'leaves a quarter'],
  },
  {
    name: 'server/long-names-in-the-log',
    file: 'src/observe/logger.ts',
    find: "if (typeof value === 'string') return cutText(value);",
    replace: "if (typeof value === 'string') return value;",
    test: ['test/unit/observe/logger.test.ts', 'what others chose is cut'],
  },
  {
    name: 'remote/lines-without-value',
    file: 'src/jsonrpc/sse-parsing.ts',
    find: 'if (this.#hasData) this.#data.push(NEWLINE);',
    replace: '',
    test: ['test/property/sse-parsing.test.ts', 'lines without a value count'],
  },
  {
    name: 'remote/retry-floor',
    file: 'src/upstream/remote/answer-body.ts',
    find: 'Math.max(retryMs, floorMs)',
    replace: 'retryMs',
    test: ['test/unit/upstream/remote/reconnecting.test.ts', 'retry: 0'],
  },
  {
    name: 'child/oversize',
    file: 'src/jsonrpc/line-framing.ts',
    find: 'if (this.#dropped !== undefined || this.#length + rest.length > this.#maxBytes) {',
    replace: 'if (this.#dropped !== undefined) {',
    also: [
      {
        file: 'src/jsonrpc/line-framing.ts',
        find: 'if (this.#length > this.#maxBytes) this.#keepEnds();',
        replace: '',
      },
    ],
    test: ['test/integration/bounds.test.ts', 'response_too_large: only that call fails'],
  },
  {
    name: 'child/stderr-rate',
    file: 'src/upstream/stdio/stderr-log.ts',
    find: 'const isDropped = ++this.#linesInWindow > MAX_LINES_PER_SECOND;',
    replace: 'const isDropped = ++this.#linesInWindow < 0;',
    test: ['test/integration/bounds.test.ts', 'on stderr is drained'],
  },
  {
    name: 'child/budget',
    file: BUDGET,
    find: '} else if (all.length >= max) {',
    replace: '} else if (all.length < 0) {',
    test: [BUDGET_TESTS, 'caps hold'],
  },
  {
    name: 'child/budget-of-principal',
    file: BUDGET,
    find: 'if (own.length >= maxPerPrincipal) {',
    replace: 'if (own.length < 0) {',
    test: [BUDGET_TESTS, 'caps hold'],
  },
  {
    name: 'elicitations/owner',
    file: 'src/mux/elicitation-owners.ts',
    find: 'isSame ? client : undefined',
    replace: 'client',
    test: ['test/unit/mux/elicitation-owners.test.ts', 'that two people were given'],
  },
  {
    name: 'elicitations/told-to-owner',
    file: 'src/upstream/fan-out.ts',
    find: "if (client === undefined) this.#withhold('unattributable');\n    else client.notify",
    replace: 'for (const { client } of this.#subscribers) client.notify',
    test: ['test/integration/access/elicitations.test.ts', 'to nobody else'],
  },
  {
    name: 'remote/public-names',
    file: DIALLING,
    find: 'all.filter(({ address }) => isPublicAddress(address))',
    replace: 'all',
    test: [DIALLING_TESTS, 'D06'],
  },
  {
    name: 'remote/public-addresses',
    file: DIALLING,
    find: 'if (isIP(host) !== 0 && !isPublicAddress(host)) callback(refusal(), null);\n    else ',
    replace: '',
    test: [DIALLING_TESTS, 'D06'],
  },
  {
    name: 'remote/public-token-endpoint',
    file: 'src/upstream/credentials/token-request.ts',
    find: 'dialler(secured, policy, SUBJECT)',
    replace: "dialler(secured, { allowPrivate: policy !== undefined }, '')",
    test: [DIALLING_TESTS, 'the token endpoint'],
  },
  {
    name: 'remote/public-behind-proxy',
    file: 'src/upstream/credentials/dialling.ts',
    find: 'if (isPublicAddress(host)) done(host);',
    replace: 'if (host.length > 0) done(host);',
    test: ['test/unit/upstream/credentials/proxied.test.ts', 'nobody is asked for http'],
  },
  {
    name: 'child/program-once',
    file: 'src/upstream/stdio/program.ts',
    find: '(before === undefined ? undefined : look(before.path)) ?? findProgram(this.#command, place)',
    replace: 'findProgram(this.#command, place)',
    test: ['test/integration/program-files.test.ts', 'before it on PATH is not started'],
  },
  {
    name: 'child/program-changed',
    file: 'src/upstream/stdio/program.ts',
    find: 'now.mark !== before.mark || now.path !== before.path',
    replace: "now.mark === ''",
    test: ['test/unit/upstream/stdio/program.test.ts', 'with one warning'],
  },
  {
    name: 'errors/told-in-words',
    file: 'src/upstream/end-reasons.ts',
    find: "if (!exposesDetails) return WORD.exec(reason)?.[1] ?? 'handshake';",
    replace: '',
    test: ['test/unit/upstream/end-reasons.test.ts', 'others are told'],
  },
  {
    name: 'errors/told-to-owners',
    file: 'src/config/exposure.ts',
    find: 'return auth === undefined && isLoopbackHost(listen.host);',
    replace: 'return auth === undefined || isLoopbackHost(listen.host);',
    test: ['test/integration/access/told-reasons.test.ts', 'the reason and the server, no more'],
  },
  {
    name: 'errors/unexpected',
    file: 'src/base/errors.ts',
    find: `"The request failed inside the gateway; see the gateway's log."`,
    replace: 'messageOf(thrown)',
    test: ['test/unit/upstream/end-reasons.test.ts', 'told without its text'],
  },
  {
    name: 'remote/redirects',
    file: HTTP_ENDPOINT,
    find: 'if (keepsMethod && to?.origin === this.url.origin && redirects < MAX_REDIRECTS) return to;',
    replace: 'if (to !== null && redirects < MAX_REDIRECTS) return to;',
    test: [LEGACY_TESTS, 'D04'],
  },
  {
    name: 'remote/redirect-count',
    file: HTTP_ENDPOINT,
    find: '&& redirects < MAX_REDIRECTS) return to;',
    replace: '&& redirects >= 0) return to;',
    test: [LEGACY_TESTS, 'D04'],
  },
  {
    name: 'remote/sse-endpoint-origin',
    file: SSE,
    find: "address?.origin !== url.origin || address.username !== '' || address.password !== ''",
    replace: 'address === null',
    test: [SSE_TESTS, 'D09 the endpoint http://127.0.0.1:9/messages'],
  },
  {
    name: 'remote/sse-endpoint-user',
    file: SSE,
    find: "address?.origin !== url.origin || address.username !== '' || address.password !== ''",
    replace: 'address?.origin !== url.origin',
    test: [SSE_TESTS, 'D09 an endpoint with a user name'],
  },
  {
    name: 'remote/client-authorization',
    file: 'src/upstream/streamable-http/link.ts',
    find: "return { 'content-type': JSON_TYPE, accept: BOTH_TYPES, ...own };",
    replace: `return { 'content-type': JSON_TYPE, accept: BOTH_TYPES, ...own, 'x-client': ${LEAK} ?? '' };`,
    also: [LEAKING],
    test: [LEGACY_TESTS, 'D01'],
  },
  {
    name: 'child/client-authorization',
    file: CHANNEL,
    find: ': this.#child.write(message, LINE_FEED);',
    replace: `: this.#child.write(Buffer.from(message.toString('utf8').replace(/}$/, \`,"leak":\${JSON.stringify(${LEAK} ?? '')}}\`)), LINE_FEED);`,
    also: [LEAKING],
    test: ['test/integration/access/api-keys.test.ts', 'GW-154 D01'],
  },
];
