// Which server a request is for, and what the server gets: by the name of a tool or prompt, by the
// URI of a resource, or by what a completion refers to.
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

/** What routes need of a client. */
type RouteContext = Pick<ClientLeases, 'view' | 'parts' | 'era' | 'principal'>;

/** By the type of what is completed: the member that names it. */
const REFERENCES: ReadonlyMap<unknown, 'name' | 'uri'> = new Map([
  ['ref/prompt', 'name'],
  ['ref/resource', 'uri'],
]);

/** Who is shown what. */
export type Viewer = Pick<RouteContext, 'parts' | 'principal'>;

/** Finds the way of a request. Waits only where a list must be read first. */
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

/** With `toolList: search` the call of a tool may be in that of another one. */
function toolCall(frame: Frame, context: RouteContext): RoutingDecision | Promise<RoutingDecision> {
  const { search } = context.parts;
  const name = search && parseString(frame.bytes, frame.nameStart, frame.nameEnd);
  const searched = name === undefined ? undefined : search?.take(frame, name, context);
  if (searched === undefined) return byName(frame, TOOLS_LIST, context);
  const to = (found: SearchOutcome): RoutingDecision | Promise<RoutingDecision> =>
    'result' in found ? settled(found.result) : calledByName(found.call, context);
  return whenThere(searched, to);
}

/** The call that stood in another one. What is wrong with its name is for the model to read. */
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
 * To a tool or prompt, unless there is none or it is not for this client.
 * @param name as the client calls it
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

/** There is no such name, unless a server has it whose list can't be had. */
function missing(
  kind: 'tool' | 'prompt',
  name: string,
  { view }: Pick<RouteContext, 'view'>,
): RoutingDecision {
  const failure = view.lackOf(kind === 'tool' ? TOOLS_LIST : PROMPTS_LIST, name);
  return failure === undefined ? unknown(kind, name) : settled(failure);
}

/** A request under the name that the server knows. */
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
  if (hasTwoReferences(frame)) return refused('ref and its members must be there once.');
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

/** To the servers that may have a resource and show it to this client. */
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

/** A server that reads another one of two would look at another thing than was allowed. */
function hasTwoReferences({ bytes, paramsStart, paramsEnd }: Frame): boolean {
  if (paramsStart < 0) return false;
  const refs = membersOf(bytes, paramsStart, paramsEnd).filter(({ key }) => key === 'ref');
  const [ref] = refs;
  if (ref === undefined || refs.length > 1) return refs.length > 1;
  const keys = membersOf(bytes, ref.valueStart, ref.valueEnd).map(({ key }) => key.toLowerCase());
  return new Set(keys).size < keys.length;
}

/** A task's id says which server runs it. */
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
  // Rights may have been taken away since the task was made.
  if (member === undefined || !context.parts.visibility.opens(context.principal, member.key)) {
    return settled(ERRORS.unknownTask);
  }
  return { kind: 'to', member, frame: request.frame };
}

/**
 * What no part of a message says the server of goes nowhere, unless there is but one. What it does
 * there nobody knows, so it is for those who may use everything.
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

/** The server of a name, where the endpoint has it. */
function memberOf({ members }: AggregateParts, key: string): Member | undefined {
  return members.find((member) => member.key === key);
}

function ownersOf(target: UriTarget): readonly UriOwner[] {
  return target.kind === 'one' ? [target] : target.targets;
}

/** Whether a client may use a resource, listed or not. */
export function isShown({ parts, principal }: Viewer, { key, uri }: UriOwner): boolean {
  const catalog = memberOf(parts, key)?.catalog;
  const item = { server: key, kind: 'resource', name: uri } as const;
  return catalog?.showsResource(uri) === true && parts.visibility.allows(principal, item);
}

function mayUse(item: AccessItem, { parts, principal }: Viewer): boolean {
  return parts.visibility.allows(principal, item);
}

/**
 * The open refusal of something that may not be used.
 * @param what it is, in words
 * @returns undefined: it is to look as if there was none
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
 * The servers that may have a resource which the endpoint shows, the likeliest first.
 * @param uri as the client calls it
 * @param matchBudget told what it took
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
 * A request about a resource as the server calls it.
 * @param uri as the client calls it
 * @param own as the server does
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

/** Said openly, with the scopes that would help. */
function forbidden(what: string, denial: Denial): RoutingDecision {
  const data = denial.scopes.length === 0 ? {} : { data: { requiredScopes: denial.scopes } };
  return settled(new Denied({ ...invalidParams(`you may not use ${what}.`), ...data }, denial));
}

/** As if there was none: whoever asks learns nothing of what is hidden. */
function notFound(uri: string): RoutingDecision {
  return settled(resourceNotFound(uri));
}

function settled(outcome: Outcome): RoutingDecision {
  return { kind: 'settled', outcome };
}

function shown(name: string): string {
  return `"${name.slice(0, 100)}"`;
}
