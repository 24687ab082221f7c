// Attribution by elimination (docs/protocol.md#attribution): which client's call made a server ask.
// Pure: the candidates go in, the verdict comes out.
import type { Downstream } from '../ports/downstream.ts';
import type { Request } from '../ports/request.ts';
import type { Call } from './call.ts';

/**
 * How long after its end an abandoned call of the same principal still counts. A server that
 * honours cancels never answers them, so without a limit one cancel would block every server
 * request.
 */
const ABANDONED_GRACE_MS = 10_000;

/**
 * How long a cancel and a server request may take to pass each other in the pipe, where the server
 * does not show when it has read the cancel. Whoever honours cancels asks nothing for a call later
 * than this.
 */
const CROSSING_MS = 2_000;

export type Verdict =
  /** One client is left, and this call of its is where the server request belongs. */
  | { readonly kind: 'one'; readonly client: Downstream; readonly call: Call }
  /** Several clients are left: wait. */
  | { readonly kind: 'several' }
  /** Nobody who could be asked is left. */
  | { readonly kind: 'none' };

/** The calls that may be behind a server request that arrives now. */
export function candidatesOf(calls: Iterable<Call>, nowMs: number): Set<Call> {
  const eligible: Call[] = [];
  for (const call of calls) if (call.mayAsk) eligible.push(call);
  return withoutPast(eligible, nowMs);
}

/**
 * The call that something belongs to which says nothing of its origin, such as a log message.
 * @param mayBeFor whether it can be about a call of that client at all
 * @returns a call of the only client that has any; undefined when there is none, or several
 */
export function soleCaller(
  calls: Iterable<Call>,
  nowMs: number,
  mayBeFor: (client: Downstream) => boolean,
): Request | undefined {
  const eligible = [...calls].filter(({ client }) => client !== undefined && mayBeFor(client));
  const verdict = judge(withoutPast(eligible, nowMs));
  return verdict.kind === 'one' ? verdict.call.request : undefined;
}

/** Those of the candidates for a server request asked at `askedAtMs` that count still. */
export function stillCandidates(
  candidates: ReadonlySet<Call>,
  askedAtMs: number,
  nowMs: number,
): Set<Call> {
  const still = withoutPast([...candidates], nowMs);
  for (const call of candidates) if (mayHaveCrossed(call, askedAtMs)) still.add(call);
  return still;
}

/**
 * When an abandoned candidate will count no more.
 * @returns milliseconds from now until the first one; infinite when there is none
 */
export function nextDropoutMs(
  candidates: ReadonlySet<Call>,
  askedAtMs: number,
  nowMs: number,
): number {
  let next = Number.POSITIVE_INFINITY;
  for (const call of candidates) {
    const { abandonedAtMs } = call;
    if (abandonedAtMs === undefined || mayHaveCrossed(call, askedAtMs)) continue;
    const leftMs = abandonedAtMs + ABANDONED_GRACE_MS - nowMs;
    if (leftMs > 0) next = Math.min(next, leftMs);
  }
  return next;
}

function withoutPast(calls: readonly Call[], nowMs: number): Set<Call> {
  const eligible = calls.filter(({ client }) => client !== undefined);
  const principals = new Set(eligible.map(({ client }) => client?.principal.key));
  if (principals.size > 1) return new Set(eligible);
  return new Set(eligible.filter((call) => !isPast(call, nowMs)));
}

function isPast(call: Call, nowMs: number): boolean {
  return call.abandonedAtMs !== undefined && nowMs - call.abandonedAtMs >= ABANDONED_GRACE_MS;
}

// The server may have asked before it knew that nobody waits for the call any more.
function mayHaveCrossed({ abandonedAtMs, cancelSeenAtMs }: Call, askedAtMs: number): boolean {
  if (abandonedAtMs === undefined) return false;
  return askedAtMs <= (cancelSeenAtMs ?? abandonedAtMs + CROSSING_MS);
}

/** Who is left among the candidates. */
export function judge(candidates: ReadonlySet<Call>): Verdict {
  let client: Downstream | undefined;
  let latest: Call | undefined;
  for (const call of candidates) {
    const asker = call.client;
    if (asker === undefined) continue;
    if (client !== undefined && asker !== client) return { kind: 'several' };
    client = asker;
    // Of one client's calls the latest live one carries the server request
    // (docs/protocol.md#attribution).
    if (call.abandonedAtMs === undefined) latest = call;
  }
  if (client === undefined || latest === undefined) return { kind: 'none' };
  return { kind: 'one', client, call: latest };
}
