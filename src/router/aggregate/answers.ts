// What a merged endpoint answers itself: its lists, `initialize` and `server/discover`.
import { type StepsTo, whenThere } from '../../base/steps.ts';
import { TEXT_LIMITS } from '../../base/text-limits.ts';
import {
  type MemberInfo,
  mergedCapabilities,
  mergedInstructions,
} from '../../catalog/endpoint-info.ts';
import type { ListMethod } from '../../catalog/list-kinds.ts';
import { makeOfLists } from '../../catalog/list-work.ts';
import { type Listing, readCursor } from '../../catalog/listing.ts';
import { INVALID_PARAMS, type WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { memberText } from '../../jsonrpc/members.ts';
import { type JsonObject, parseString } from '../../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import { ERRORS, RESOURCE_NOT_FOUND } from '../../mcp/errors.ts';
import { META } from '../../mcp/meta.ts';
import { RESOURCES_LIST, TEMPLATES_LIST, TOOLS_LIST } from '../../mcp/methods.ts';
import { MODERN_VERSION } from '../../mcp/versions.ts';
import type { ServerIdentity } from '../../ports/lease.ts';
import type { Outcome } from '../../ports/request.ts';
import type { AggregateParts, ClientLeases } from './aggregate-router.ts';
import { SEARCH_LISTING } from './search-service.ts';
import type { View, ViewLeases } from './view.ts';

/** The client that reads a list. */
type Reader = Pick<ClientLeases, 'parts' | 'principal' | 'era'>;

/**
 * The page that a client asks for, or an error.
 * @param whole the current list without what the client may not see; an older list is used if the cursor
 *   belongs to it
 */
export function pageOf(
  frame: Frame,
  whole: Listing,
  reader: Reader,
): Buffer | WireError | Promise<Buffer | WireError> {
  return makeOfLists(pageSteps(frame, whole, reader));
}

function* pageSteps(frame: Frame, whole: Listing, reader: Reader): StepsTo<Buffer | WireError> {
  const { parts, principal, era } = reader;
  const listing = yield* parts.visibility.of(principal, whole);
  const { bytes, paramsStart, paramsEnd } = frame;
  const text = paramsStart < 0 ? undefined : memberText(bytes, paramsStart, paramsEnd, 'cursor');
  const head = era === 'modern' ? parts.modernHead.ofLists : undefined;
  if (text === undefined) return yield* listing.page(0, era, head);
  const cursor = text.length > TEXT_LIMITS.cursor ? undefined : parseString(text, 0, text.length);
  const position = cursor === undefined ? undefined : readCursor(cursor);
  if (position === undefined) return ERRORS.badCursor;
  const { digest, start } = position;
  const isNow = digest === (yield* listing.digest());
  const of = isNow ? listing : yield* olderListing(whole.method, digest, reader);
  if (of?.isPageStart(start) !== true) return ERRORS.badCursor;
  return yield* of.page(start, era, head);
}

/** The cursor may come from another client, so an older list is not used for private servers. */
function* olderListing(
  method: ListMethod,
  digest: string,
  { parts, principal }: Reader,
): StepsTo<Listing | undefined> {
  const { composer, members, visibility } = parts;
  const isForAll = members.every(({ isShared }) => isShared);
  const older = isForAll ? composer.withDigest(method, digest) : undefined;
  return older && (yield* visibility.of(principal, older));
}

/** The current list of an endpoint. */
export function listingOf(
  view: View,
  method: ListMethod,
  parts: AggregateParts,
): Listing | Promise<Listing> {
  if (method === TOOLS_LIST && parts.search !== undefined) return SEARCH_LISTING;
  if (method !== RESOURCES_LIST && method !== TEMPLATES_LIST) return view.named(method);
  const member = method === RESOURCES_LIST ? 'resources' : 'templates';
  return whenThere(view.resources(), (both) => both[member]);
}

/** The beginning of modern results that the gateway makes. */
export class ModernHead {
  readonly ofLists: string;
  readonly #complete: Buffer;

  constructor(gatewayVersion: string) {
    const meta = `"_meta":${jsonText({ [META.serverInfo]: gatewayInfo(gatewayVersion) })}`;
    this.#complete = Buffer.from(`{"resultType":"complete",${meta},`);
    this.ofLists = `{"resultType":"complete","ttlMs":0,"cacheScope":"private",${meta},`;
  }

  /** A result of the gateway for a modern client. */
  own(outcome: Outcome): Outcome {
    if (Buffer.isBuffer(outcome)) return Buffer.concat([this.#complete, outcome.subarray(1)]);
    const isNotFound = 'code' in outcome && outcome.code === RESOURCE_NOT_FOUND;
    return isNotFound ? { ...outcome, code: INVALID_PARAMS } : outcome;
  }
}

/** The parts of a client's leases that describe its servers. */
interface InfoSource extends Pick<ClientLeases, 'parts'>, Pick<ViewLeases, 'lease'> {
  /** Whether the client may use anything of a server. */
  opens(member: number): boolean;
}

/** What the servers say about themselves, as far as the client may use them. */
export function memberInfosOf(
  client: InfoSource,
  capabilitiesOf: (identity: ServerIdentity) => JsonObject,
): MemberInfo[] {
  const { members, composer } = client.parts;
  return members.flatMap(({ key, index }) => {
    if (!client.opens(index)) return [];
    const identity = client.lease(index)?.identity;
    const capabilities = identity && capabilitiesOf(identity);
    const instructions = identity?.handshakeResult['instructions'];
    return [{ key, capabilities, instructions, namePrefix: composer.prefixOf(key) }];
  });
}

/** The result of `initialize`, without the version. */
export function mergedInitializeResult(
  parts: readonly MemberInfo[],
  gatewayVersion: string,
): JsonObject {
  const instructions = mergedInstructions(parts);
  return {
    capabilities: mergedCapabilities(parts),
    serverInfo: gatewayInfo(gatewayVersion),
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** The result of `server/discover`. */
export function mergedDiscovery(parts: readonly MemberInfo[], gatewayVersion: string): Buffer {
  const { serverInfo, ...rest } = mergedInitializeResult(parts, gatewayVersion);
  return jsonBytes({
    resultType: 'complete',
    supportedVersions: [MODERN_VERSION],
    ...rest,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: serverInfo },
  });
}

function gatewayInfo(version: string): JsonObject {
  return { name: 'sluice', version };
}
