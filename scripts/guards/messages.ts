// Guards of messages: one reading of each, bounds of each, and nothing secret in what is written down.
import type { Guard } from './guard.ts';

const SCAN = 'src/jsonrpc/scan.ts';
const TWIN_TESTS = 'test/integration/access/twin-arguments.test.ts';
const SCAN_TESTS = 'test/property/scan.test.ts';
const MODERN_POST = 'src/listener/streamable-http/modern-post.ts';
const MODERN_TESTS = 'test/integration/modern-http.test.ts';
const REPORT = 'src/config/report.ts';
const REPORT_TESTS = 'test/unit/config/report.test.ts';
const MESSAGE_LOG = 'src/observe/message-log.ts';
const LOG_TESTS = 'test/unit/observe/message-log.test.ts';

export const messageGuards: readonly Guard[] = [
  {
    name: 'parse/other-spellings',
    file: SCAN,
    find: '} else if (TOP_MEMBERS.has(bytes, key, keyEnd)) {',
    replace: '} else if (bytes.length === 0) {',
    test: [SCAN_TESTS, 'a member that routes'],
  },
  {
    name: 'parse/other-spellings-of-params',
    file: SCAN,
    find: 'if (!options.anyParams && PARAM_MEMBERS.has(bytes, key, keyEnd)) {',
    replace: 'if (options === undefined) {',
    test: [SCAN_TESTS, 'a member that routes'],
  },
  {
    name: 'parse/method-twice',
    file: SCAN,
    find: "if (frame.method !== '') frame.fault = 'duplicate';",
    replace: '',
    test: [SCAN_TESTS, 'a member that routes'],
  },
  {
    name: 'parse/name-twice',
    file: SCAN,
    find: '    seen |= bit;',
    replace: '    seen |= bit & ~1;',
    test: [SCAN_TESTS, 'a member that routes'],
  },
  {
    name: 'parse/state-twice',
    file: SCAN,
    find: '    seen |= bit;',
    replace: '    seen |= bit & 511 & ~256;',
    test: ['test/integration/principals-states.test.ts', 'C01 brings no second state along'],
  },
  {
    name: 'parse/arguments-twice',
    file: SCAN,
    find: '    seen |= bit;',
    replace: '    seen |= bit & ~1024;',
    test: [TWIN_TESTS, 'C01 sends no member of a call twice'],
  },
  {
    name: 'parse/envelope-twice',
    file: SCAN,
    find: 'if ((noted & bit) !== 0)',
    replace: 'if (bit > 32)',
    test: ['test/unit/jsonrpc/twin-members.test.ts', 'is not valid with params._meta'],
  },
  {
    name: 'parse/argument-twice-where-checked',
    file: 'src/router/aggregate/tool-calls.ts',
    find: 'if (isEnforced && args !== undefined && hasDuplicateKeys(args, 0, args.length)) {',
    replace:
      'if (args !== undefined && args.length === 0 && hasDuplicateKeys(args, 0, args.length)) {',
    test: [TWIN_TESTS, 'C01 has no argument twice'],
  },
  {
    name: 'parse/utf8',
    file: SCAN,
    find: 'if (after < 0 || skipSpace(bytes, after, end) !== end || !isUtf8(bytes)) {',
    replace: 'if (after < 0 || skipSpace(bytes, after, end) !== end) {',
    test: ['test/integration/access/edges.test.ts', 'C15'],
  },
  {
    name: 'parse/depth',
    file: 'src/jsonrpc/json-text.ts',
    find: `function skipArray(text: Uint8Array, from: number, end: number, depth: number): number {
  if (depth > MAX_DEPTH) return TOO_DEEP;`,
    replace:
      'function skipArray(text: Uint8Array, from: number, end: number, depth: number): number {',
    test: [SCAN_TESTS, 'nesting is bounded'],
  },
  {
    name: 'parse/batch',
    file: 'src/jsonrpc/batch.ts',
    find: 'return texts.length > MAX_BATCH ? undefined : texts;',
    replace: 'return texts;',
    test: ['test/integration/access/edges.test.ts', 'C06 a batch'],
  },
  {
    name: 'headers/method',
    file: MODERN_POST,
    find: "if (method.trim() !== frame.method) return mismatch('Mcp-Method differs from the method.');",
    replace: '',
    test: [MODERN_TESTS, 'GW-026'],
  },
  {
    name: 'headers/name',
    file: MODERN_POST,
    find: 'return decodeHeaderValue(header) === name\n',
    replace: 'return header !== undefined\n',
    test: [MODERN_TESTS, 'GW-027'],
  },
  {
    name: 'headers/version',
    file: MODERN_POST,
    find: 'if (version !== undefined && claimed !== undefined && version !== claimed) {',
    replace: 'if (version === "" && claimed === "") {',
    test: [MODERN_TESTS, 'GW-023'],
  },
  {
    name: 'framing/line-bound',
    file: 'src/jsonrpc/line-framing.ts',
    find: 'if (this.#length > this.#maxBytes) this.#keepEnds();',
    replace: '',
    test: ['test/property/framing.test.ts', 'an endless line holds no more'],
  },
  {
    name: 'framing/one-line-to-server',
    file: 'src/jsonrpc/splice.ts',
    find: 'export function onOneLine(bytes: Buffer): Buffer {',
    replace:
      'export function onOneLine(bytes: Buffer): Buffer {\n  if (bytes.length > 0) return bytes;',
    test: ['test/integration/fidelity.test.ts', 'GW-079'],
  },
  {
    name: 'framing/one-line-to-client',
    file: 'src/jsonrpc/sse-framing.ts',
    find: '[head, ...message.map(onOneLine), END]',
    replace: '[head, ...message, END]',
    test: ['test/unit/jsonrpc/sse-framing.test.ts', 'C10'],
  },
  {
    name: 'log/redacted-fields',
    file: 'src/observe/logger.ts',
    find: "redact: { paths: SECRET_FIELDS, censor: '***' },",
    replace: '',
    test: ['test/unit/observe/logger.test.ts', 'H02'],
  },
  {
    name: 'log/no-bodies',
    file: MESSAGE_LOG,
    find: "if (!this.#logger.isLevelEnabled('trace')) {",
    replace: 'if (bytes.length < 0) {',
    test: [LOG_TESTS, 'and nothing of the body'],
  },
  {
    name: 'log/masked-bodies',
    file: MESSAGE_LOG,
    find: "body: this.#masked(bytes.toString('utf8'))",
    replace: "body: bytes.toString('utf8')",
    test: [LOG_TESTS, 'secrets masked'],
  },
  {
    name: 'log/audit-owner-only',
    file: 'src/observe/audit-file.ts',
    find: 'const OWNER_ONLY = 0o600;',
    replace: 'const OWNER_ONLY = 0o644;',
    test: ['test/integration/access/audit.test.ts', 'says who called what'],
  },
  {
    name: 'log/audit-name-length',
    file: 'src/observe/audit.ts',
    find: 'target: target?.slice(0, MAX_NAME_LENGTH),',
    replace: 'target,',
    test: ['test/integration/access/audit.test.ts', 'H01 a tool called'],
  },
  {
    name: 'check/names',
    file: REPORT,
    find: 'SECRET_NAME.test(name) ? MASK : mask(value),',
    replace: 'mask(value),',
    test: [REPORT_TESTS, 'masks'],
  },
  {
    name: 'check/sources',
    file: REPORT,
    find: 'return parts.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);',
    replace: 'return parts.length < 0 ? MASK : text;',
    test: [REPORT_TESTS, 'masks'],
  },
  {
    name: 'check/arguments',
    file: REPORT,
    find: "return isValue && !argument.startsWith('-') ? MASK : mask(argument);",
    replace: 'return isValue && argument === "" ? MASK : mask(argument);',
    test: [REPORT_TESTS, 'masks'],
  },
  {
    name: 'messages/notification-as-request',
    file: 'src/mcp/methods.ts',
    find: "return method.startsWith('notifications/');",
    replace: 'return method === INITIALIZED;',
    test: ['test/integration/cancel.test.ts', 'that is called as a notification'],
  },
  {
    name: 'messages/cancel-twins',
    file: 'src/session/session.ts',
    find: 'if (id === undefined || id.length > TEXT_LIMITS.id || hasOtherIds(frame)) return;',
    replace: 'if (id === undefined) return;',
    test: ['test/integration/json-rpc.test.ts', 'gives $/cancelRequest the id'],
  },
];
