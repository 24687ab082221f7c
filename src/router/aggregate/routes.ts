// Finds the server for a request, and makes the request for that server: by the name of a tool or prompt, by
// the URI of a resource, or by the reference of a completion.
import { whenThere } from '../../base/steps.ts';
import { lengthRule, TEXT_LIMITS } from '../../base/text-limits.ts';
import type { OfferedEntry } from '../../catalog/offered-entry.ts';
import type { ResourceTable, UriOwner, UriTarget } from '../../catalog/resource-uris.ts';
import type { MatchBudget } from '../../catalog/uri-templates.ts';
import { invalidParams, notOffered } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { lastMember, membersOf } from '../../jsonrpc/members.ts';
import { isObject, parseParams, parseString } from '../../jsonrpc/parse.ts';
import { jsonBytes } from '../../jsonrpc/serialize.ts';
import { withValue } from '../../jsonrpc/splice.ts';
import { ERRORS, resourceNotFound } from '../../mcp/errors.ts';
import {
  COMPLETE,
  isTaskMethod,
  PROMPTS_GET,
  PROMPTS_LIST,
  RESOURCES_READ,
  SUBSCRIBE,
  TOOLS_CALL,
  TOOLS_LIST,
  UNSUBSCRIBE,
} from '../../mcp/methods.ts';
import type { AccessItem, AccessKind, Denial } from '../../ports/principal.ts';
import { Denied, type Outcome, type Request } from '../../ports/request.ts';
import type { AggregateParts, ClientLeases } from './aggregate-router.ts';
import type { Member } from './member.ts';
import type { RouteTarget, RoutingDecision } from './routed-request.ts';
import type { SearchOutcome } from './search-service.ts';
import type { NamedMethod } from './view.ts';

/** What routing needs from a client. */
type RouteContext = Pick<ClientLeases, 'view' | 'parts' | 'era' | 'principal'>;

/** The member that identifies the reference of a completion, by its type. */
const REFERENCES: ReadonlyMap<unknown, 'name' | 'uri'> = new Map([
  ['ref/prompt', 'name'],
  ['ref/resource', 'uri'],
]);

/** The client for which something is routed. */
export type Viewer = Pick<RouteContext, 'parts' | 'principal'>;

/** Routes a request. Returns a promise only if a list must be read first. */
export function routeOf(
  request: Request,
  context: RouteContext,
): RoutingDecision | Promise<RoutingDecision> {
  const { frame } = request;
  switch (frame.method) {
    case TOOLS_CALL:
      return toolCall(frame, context);
    case PROMPTS_GET:
      return byName(frame, PROMPTS_LIST, context);
    case RESOURCES_READ:
    case SUBSCRIBE:
    case UNSUBSCRIBE:
      return byUri(frame, context);
    case COMPLETE:
      return byReference(frame, context);
    default:
      return isTaskMethod(frame.method) ? byTask(request, context) : byMethod(request, context);
  }
}

/** With `toolList: search`, `call_tool` contains the call of another tool. */
function toolCall(frame: Frame, context: RouteContext): RoutingDecision | Promise<RoutingDecision> {
  const { search } = context.parts;
  const name = search && parseString(frame.bytes, frame.nameStart, frame.nameEnd);
  const searched = name === undefined ? undefined : search?.take(frame, name, context);
  if (searched === undefined) return byName(frame, TOOLS_LIST, context);
  const to = (found: SearchOutcome): RoutingDecision | Promise<RoutingDecision> =>
    'result' in found ? settled(found.result) : calledByName(found.call, context);
  return whenThere(searched, to);
}

/** The call inside of `call_tool`. If the name is wrong, the model gets a result that says so. */
async function calledByName(call: Frame, context: RouteContext): Promise<RoutingDecision> {
  const route = await byName(call, TOOLS_LIST, context);
  if (route.kind === 'to') return { ...route, isReworded: true };
  const { bytes, nameStart, nameEnd } = call;
  const name = parseString(bytes, nameStart, nameEnd);
  const isUnknown = route.kind === 'settled' && 'code' in route.outcome;
  const result =
    isUnknown && name !== undefined
      ? await context.parts.search?.unknown(name, context)
      : undefined;
  return result === undefined ? route : settled(result);
}

function byName(
  frame: Frame,
  method: NamedMethod,
  context: RouteContext,
): RoutingDecision | Promise<RoutingDecision> {
  const name = parseString(frame.bytes, frame.nameStart, frame.nameEnd);
  if (name === undefined) return settled(ERRORS.badName);
  const entry = context.view.find(method, name);
  return entry instanceof Promise
    ? entry.then((found) => toEntry(found, name, frame, context))
    : toEntry(entry, name, frame, context);
}

/**
 * Routes to a tool or prompt, unless it does not exist or is not for this client.
 * @param name the client's
 */
function toEntry(
  entry: OfferedEntry | undefined,
  name: string,
  frame: Frame,
  context: RouteContext,
): RoutingDecision {
  const { parts, principal } = context;
  const kind = frame.method === TOOLS_CALL ? 'tool' : 'prompt';
  const member = entry && parts.members[entry.member];
  if (entry === undefined || member === undefined) return missing(kind, name, context);
  if (!parts.visibility.allowsEntry(principal, kind, entry)) {
    const item = { server: member.key, kind, name: entry.upstream } as const;
    return denied(item, `the ${kind} ${shown(name)}`, context) ?? unknown(kind, name);
  }
  return { kind: 'to', member, frame: withName(frame, entry), entry };
}

/** The name does not exist, or the list of the server that may have it is missing. */
function missing(
  kind: 'tool' | 'prompt',
  name: string,
  { view }: Pick<RouteContext, 'view'>,
): RoutingDecision {
  const failure = view.lackOf(kind === 'tool' ? TOOLS_LIST : PROMPTS_LIST, name);
  return failure === undefined ? unknown(kind, name) : settled(failure);
}

/** The request with the server's own name. */
function withName(frame: Frame, { name, upstream, upstreamText }: OfferedEntry): Frame {
  if (frame.method === COMPLETE) return withReference(frame, 'name', upstream);
  if (name === upstream) return frame;
  return withValue(frame, frame.nameStart, frame.nameEnd, upstreamText);
}

function byUri(frame: Frame, context: RouteContext): RoutingDecision | Promise<RoutingDecision> {
  const uri = parseString(frame.bytes, frame.uriStart, frame.uriEnd);
  return uri === undefined ? settled(ERRORS.badUri) : toResource(uri, frame, context);
}

function byReference(
  frame: Frame,
  context: RouteContext,
): RoutingDecision | Promise<RoutingDecision> {
  if (hasTwoReferences(frame))
    return refused('ref and its members must not be missing or duplicated.');
  const { ref } = parseParams(frame);
  const member = isObject(ref) ? REFERENCES.get(ref['type']) : undefined;
  const value = isObject(ref) && member !== undefined ? ref[member] : undefined;
  if (member === undefined || typeof value !== 'string')
    return refused('ref must name a prompt or a resource.');
  if (value.length > TEXT_LIMITS[member]) {
    return refused(`${lengthRule(`ref.${member}`, TEXT_LIMITS[member])}.`);
  }
  if (member === 'uri') return toResource(value, frame, context);
  return whenThere(context.view.find(PROMPTS_LIST, value), (entry) =>
    toEntry(entry, value, frame, context),
  );
}

/** Routes to the servers that may have a resource, and show it to this client. */
function toResource(
  uri: string,
  frame: Frame,
  context: RouteContext,
): RoutingDecision | Promise<RoutingDecision> {
  return whenThere(context.view.resourcesToSearch(uri), ({ table }) => {
    const targets = shownOwners(context, table, uri).flatMap(({ key, uri: own }): RouteTarget[] => {
      const member = memberOf(context.parts, key);
      return member === undefined ? [] : [{ kind: 'to', member, frame: withUri(frame, uri, own) }];
    });
    if (targets.length > 0) return { kind: 'inOrder', targets };
    const owners = ownersOf(table.resolve(uri));
    if (owners.length === 0) return settled(notOffered('resources'));
    const isReferred = frame.method === COMPLETE;
    return (
      deniedResource(owners, context) ?? (isReferred ? unknown('resource', uri) : notFound(uri))
    );
  });
}

/** If a server read the other one of two references, it would use something that was not checked. */
function hasTwoReferences({ bytes, paramsStart, paramsEnd }: Frame): boolean {
  if (paramsStart < 0) return false;
  const refs = membersOf(bytes, paramsStart, paramsEnd).filter(({ key }) => key === 'ref');
  const [ref] = refs;
  if (ref === undefined || refs.length > 1) return refs.length > 1;
  const keys = membersOf(bytes, ref.valueStart, ref.valueEnd).map(({ key }) => key.toLowerCase());
  return new Set(keys).size < keys.length;
}

/** The id of a task says which server runs it. */
function byTask(request: Request, context: RouteContext): RoutingDecision {
  const { members, state } = context.parts;
  const [only] = members;
  if (only !== undefined && members.length === 1) {
    return { kind: 'to', member: only, frame: request.frame };
  }
  const { taskId } = parseParams(request.frame);
  if (taskId === undefined) return settled(notOffered(request.frame.method));
  const server = state.tasks.table.open(taskId, request.client.principal)?.server;
  const member = server === undefined ? undefined : memberOf(context.parts, server);
  // The client's access may have been removed since the task was made.
  if (member === undefined || !context.parts.visibility.opens(context.principal, member.key)) {
    return settled(ERRORS.unknownTask);
  }
  return { kind: 'to', member, frame: request.frame };
}

/**
 * A request that does not say which server it is for is refused, unless there is only one. Its effect is not
 * known, so the client must be allowed to use everything.
 */
function byMethod({ frame }: Request, context: RouteContext): RoutingDecision {
  const { method } = frame;
  const { members } = context.parts;
  const [only] = members;
  const absent = settled(notOffered(method));
  if (only === undefined || members.length > 1) return absent;
  const item: AccessItem = { server: only.key, kind: 'method', name: method };
  const what = `the method ${shown(method)}`;
  if (!mayUse(item, context)) return denied(item, what, context) ?? absent;
  return { kind: 'to', member: only, frame };
}

/** The server with a name, if the endpoint has it. */
function memberOf({ members }: AggregateParts, key: string): Member | undefined {
  return members.find((member) => member.key === key);
}

function ownersOf(target: UriTarget): readonly UriOwner[] {
  return target.kind === 'one' ? [target] : target.targets;
}

/** Whether a client may use a resource, even if it is not listed. */
export function isShown({ parts, principal }: Viewer, { key, uri }: UriOwner): boolean {
  const catalog = memberOf(parts, key)?.catalog;
  const item = { server: key, kind: 'resource', name: uri } as const;
  return catalog?.showsResource(uri) === true && parts.visibility.allows(principal, item);
}

function mayUse(item: AccessItem, { parts, principal }: Viewer): boolean {
  return parts.visibility.allows(principal, item);
}

/**
 * The error that openly denies access.
 * @param what the denied thing, in words
 * @returns undefined if it must look as if it did not exist
 */
function denied(
  item: AccessItem,
  what: string,
  { parts, principal }: Viewer,
): RoutingDecision | undefined {
  const denial = parts.visibility.reason(principal, item);
  return denial && forbidden(what, denial);
}

function deniedResource(
  [owner]: readonly UriOwner[],
  shownTo: Viewer,
): RoutingDecision | undefined {
  if (owner === undefined) return undefined;
  const item = { server: owner.key, kind: 'resource', name: owner.uri } as const;
  return mayUse(item, shownTo) ? undefined : denied(item, 'this resource', shownTo);
}

/**
 * The servers that may have a resource, and show it; the likeliest first.
 * @param uri the client's
 * @param matchBudget reduced by the cost
 */
export function shownOwners(
  shownTo: Viewer,
  table: ResourceTable,
  uri: string,
  matchBudget?: MatchBudget,
): readonly UriOwner[] {
  const { parts, principal } = shownTo;
  const resource = (owner: UriOwner): boolean => isShown(shownTo, owner);
  const server = (key: string): boolean => parts.visibility.opens(principal, key);
  return ownersOf(table.resolve(uri, { server, resource }, matchBudget)).filter(resource);
}

/**
 * A request about a resource, with the server's own URI.
 * @param uri the client's
 * @param own the server's
 */
function withUri(frame: Frame, uri: string, own: string): Frame {
  if (frame.method === COMPLETE) return withReference(frame, 'uri', own);
  return uri === own ? frame : withValue(frame, frame.uriStart, frame.uriEnd, jsonBytes(own));
}

function withReference(frame: Frame, member: string, own: string): Frame {
  const { bytes, paramsStart, paramsEnd } = frame;
  const ref = lastMember(bytes, paramsStart, paramsEnd, 'ref');
  const value = ref && lastMember(bytes, ref.valueStart, ref.valueEnd, member);
  if (value === undefined) return frame;
  return withValue(frame, value.valueStart, value.valueEnd, jsonBytes(own));
}

function refused(what: string): RoutingDecision {
  return settled(invalidParams(what));
}

function unknown(kind: AccessKind, name: string): RoutingDecision {
  return refused(`unknown ${kind} ${shown(name)}.`);
}

/** Denied openly, with the scopes that would be enough. */
function forbidden(what: string, denial: Denial): RoutingDecision {
  const data = denial.scopes.length === 0 ? {} : { data: { requiredScopes: denial.scopes } };
  return settled(new Denied({ ...invalidParams(`you may not use ${what}.`), ...data }, denial));
}

/** As if the resource did not exist, so that the client learns nothing about hidden ones. */
function notFound(uri: string): RoutingDecision {
  return settled(resourceNotFound(uri));
}

function settled(outcome: Outcome): RoutingDecision {
  return { kind: 'settled', outcome };
}

function shown(name: string): string {
  return `"${name.slice(0, 100)}"`;
}
