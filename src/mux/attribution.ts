// Attribution by elimination (docs/protocol.md#attribution): finds the client whose call caused a server
// request. Pure functions of the candidates.
import type { Downstream } from '../ports/downstream.ts';
import type { Request } from '../ports/request.ts';
import type { Call } from './call.ts';

/**
 * How long an abandoned call stays a candidate for sessions of the same principal. Servers that obey a
 * cancellation never answer the call, so without a limit one cancellation would block all later server
 * requests.
 */
const ABANDONED_GRACE_MS = 10_000;

/**
 * How long a cancellation may take to reach the server, if the server does not show when it has read it. A
 * server request from after that time does not belong to the cancelled call, if the server obeys
 * cancellations.
 */
const CROSSING_MS = 2_000;

export type Verdict =
  /** One client is left; the server request belongs to this call. */
  | { readonly kind: 'one'; readonly client: Downstream; readonly call: Call }
  /** Several clients are left: wait. */
  | { readonly kind: 'several' }
  /** No client is left that can be asked. */
  | { readonly kind: 'none' };

/** The calls that may have caused a server request that arrives now. */
export function candidatesOf(calls: Iterable<Call>, nowMs: number): Set<Call> {
  const eligible: Call[] = [];
  for (const call of calls) if (call.mayAsk) eligible.push(call);
  return withoutPast(eligible, nowMs);
}

/**
 * The call that a message without a call belongs to, such as a log message.
 * @param mayBeFor whether it may belong to a call of that client
 * @returns a call of the only client that has one; undefined if there is none, or several clients have one
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

/** The candidates that are still left for a server request from `askedAtMs`. */
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
 * When the next abandoned candidate drops out.
 * @returns milliseconds from now; infinite if none will
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

// Whether the server may have asked before it read the cancellation of the call.
function mayHaveCrossed({ abandonedAtMs, cancelSeenAtMs }: Call, askedAtMs: number): boolean {
  if (abandonedAtMs === undefined) return false;
  return askedAtMs <= (cancelSeenAtMs ?? abandonedAtMs + CROSSING_MS);
}

/** Decides among the candidates. */
export function judge(candidates: ReadonlySet<Call>): Verdict {
  let client: Downstream | undefined;
  let latest: Call | undefined;
  for (const call of candidates) {
    const asker = call.client;
    if (asker === undefined) continue;
    if (client !== undefined && asker !== client) return { kind: 'several' };
    client = asker;
    // Among the calls of one client, the latest one that is still open gets the server request
    // (docs/protocol.md#attribution).
    if (call.abandonedAtMs === undefined) latest = call;
  }
  if (client === undefined || latest === undefined) return { kind: 'none' };
  return { kind: 'one', client, call: latest };
}
