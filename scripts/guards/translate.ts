// Guards of what clients bring back: states, ids of tasks, and results that are kept.
import type { Guard } from './guard.ts';

const GATE = 'src/translate/modern-dispatcher.ts';
const SEALER = 'src/base/sealer.ts';
const TASK = 'src/translate/tasks/task.ts';
const CACHE = 'src/translate/response-cache.ts';
const CLAIM_TESTS = 'test/integration/access/claims.test.ts';
const STATE_TESTS = 'test/integration/principals-states.test.ts';
const TASK_TESTS = 'test/unit/translate/tasks.test.ts';
const CACHE_TESTS = 'test/unit/translate/response-cache.test.ts';

export const translateGuards: readonly Guard[] = [
  {
    name: 'state/principal',
    file: GATE,
    find: 'claims.principal === ownerOf(client.principal) &&',
    replace: 'claims.principal !== client.principal.kind &&',
    test: [STATE_TESTS, 'is nothing in the hands of somebody else'],
  },
  {
    name: 'state/proof',
    file: GATE,
    find: "return fingerprint === '' ? principal.key :",
    replace: "return fingerprint !== '?' ? principal.key :",
    test: [CLAIM_TESTS, 'GW-115 a state is none'],
  },
  {
    name: 'task/proof',
    file: 'src/upstream/private-instances.ts',
    find: 'if (!this.#isMadeFor(entry, client)) return undefined;',
    replace: '',
    test: [CLAIM_TESTS, 'B15 a task is unknown to a token'],
  },
  {
    name: 'task/life',
    file: 'src/upstream/backend.ts',
    find: 'if (instance.generation === at.slice(end + GENERATION_MARK.length)) return lease;',
    replace: 'if (instance.generation !== at) return lease;',
    also: [
      {
        file: 'src/upstream/connection.ts',
        find: "options.target.kind === 'stdio' ?",
        replace: 'options.target.kind === undefined ?',
      },
    ],
    test: ['test/integration/principals-tasks.test.ts', 'is unknown to its owner, too'],
  },
  {
    name: 'task/over',
    file: TASK,
    find: 'return this.#over.get(overKeyOf(claims)) === true ? undefined : claims;',
    replace: 'return claims;',
    test: [TASK_TESTS, 'opens none that is over'],
  },
  {
    name: 'task/unnamed',
    file: 'src/translate/tasks/awaited-call.ts',
    find: 'table.keep(new Task(claims, this.client, table)).noted(created);',
    replace: 'void Task;',
    test: [TASK_TESTS, 'of a call that the gateway makes one of'],
  },
  {
    name: 'state/endpoint',
    file: GATE,
    find: 'claims.endpoint === endpoint &&',
    replace: 'endpoint !== undefined &&',
    test: [STATE_TESTS, 'opens for no changed byte, no other request and no other place'],
  },
  {
    name: 'state/expiry',
    file: GATE,
    find: 'claims.expiresAt > wallClockMs() &&',
    replace: 'wallClockMs() > 0 &&',
    test: [STATE_TESTS, 'GW-115 an expired state of a modern server'],
  },
  {
    name: 'state/request',
    file: GATE,
    find: 'claims.request === digestOf(frame.method, parseParams(frame));',
    replace: "digestOf(frame.method, parseParams(frame)) !== '';",
    test: [STATE_TESTS, 'opens for no changed byte, no other request and no other place'],
  },
  {
    name: 'state/round',
    file: 'src/translate/modern-to-legacy.ts',
    find: 'if (claims.round === this.#round && this.#waiting.length === 0) {',
    replace: 'if (this.#waiting.length === 0) {',
    test: [STATE_TESTS, 'GW-115 of the first round does not answer the second'],
  },
  {
    name: 'state/sealed',
    file: SEALER,
    find: 'const body = [decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()];',
    replace: 'const body = [decipher.update(bytes.subarray(HEAD_BYTES))];',
    test: [TASK_TESTS, 'is void when any letter of it is another'],
  },
  {
    name: 'state/one-spelling',
    file: SEALER,
    find: "if (key === undefined || bytes.toString('base64url') !== encoded) return undefined;",
    replace: 'if (key === undefined) return undefined;',
    test: [STATE_TESTS, 'opens for no changed byte, no other request and no other place'],
  },
  {
    name: 'state/purpose',
    file: SEALER,
    find: 'if (!this.isLike(sealed)) return undefined;',
    replace: '',
    also: [
      {
        file: SEALER,
        find: 'cipher.setAAD(this.#associated);\n    const body = Buffer',
        replace: 'const body = Buffer',
      },
      { file: SEALER, find: 'decipher.setAAD(this.#associated);', replace: '' },
      { file: SEALER, find: 'update(`sluice ${purpose}`)', replace: "update('sluice')" },
    ],
    test: ['test/unit/base/sealer.test.ts', 'B15 opens for its own purpose'],
  },
  {
    name: 'state/parks-of-one',
    file: 'src/translate/suspended-calls.ts',
    find: '|| own >= MAX_PER_PRINCIPAL) return undefined;',
    replace: '|| own < 0) return undefined;',
    test: [STATE_TESTS, 'are a hundred of one principal at most'],
  },
  {
    name: 'task/principal',
    file: TASK,
    find: 'if (claims?.principal !== principal.key) return undefined;',
    replace: 'if (claims === undefined) return undefined;',
    test: [TASK_TESTS, 'opens for its principal alone'],
  },
  {
    name: 'task/principal-of-same-id',
    file: TASK,
    find: 'return owner === principal.key ? claims : undefined;',
    replace: 'return owner === "" ? undefined : claims;',
    test: [TASK_TESTS, 'an id that a server gave twice'],
  },
  {
    name: 'task/server',
    file: 'src/translate/tasks/session-tasks.ts',
    find: 'return claims?.server === this.#backend.name ? claims : undefined;',
    replace: 'return claims;',
    test: [TASK_TESTS, 'though the server has an instance of that name'],
  },
  {
    name: 'cache/private',
    file: CACHE,
    find: "const owner = isPublic ? 'public' : request.client.principal.key;",
    replace: "const owner = isPublic || request !== undefined ? 'public' : '';",
    test: [CACHE_TESTS, 'reach nobody else when they are private'],
  },
  {
    name: 'cache/private-end-to-end',
    file: CACHE,
    find: "const owner = isPublic ? 'public' : request.client.principal.key;",
    replace: "const owner = isPublic || request !== undefined ? 'public' : '';",
    test: ['test/integration/access/handles.test.ts', 'GW-156'],
  },
  {
    name: 'cache/merged-lists-private',
    file: 'src/router/aggregate/answers.ts',
    find: '`{"resultType":"complete","ttlMs":0,"cacheScope":"private",${meta},`',
    replace: '`{"resultType":"complete","ttlMs":0,"cacheScope":"public",${meta},`',
    test: ['test/integration/access/rules.test.ts', 'B16'],
  },
  {
    name: 'tasks/related-of-others',
    file: 'src/translate/tasks/session-tasks.ts',
    find: 'const own = id === undefined ? request : this.#related(request, id);',
    replace: 'const own = id === undefined ? request : (this.#related(request, id) ?? request);',
    test: ['test/integration/principals-tasks.test.ts', 'in a session of'],
  },
  {
    name: 'tasks/rights',
    file: 'src/router/aggregate/routes.ts',
    find: 'if (member === undefined || !context.parts.visibility.opens(context.principal, member.key)) {',
    replace: 'if (member === undefined) {',
    test: ['test/integration/principals-tasks.test.ts', 'B15 G08 once its owner'],
  },
];
