// What an endpoint with several servers answers itself: its lists and who it is.

import type { StepsTo } from '../../base/steps.ts';
import { TEXT_LIMITS } from '../../base/text-limits.ts';
import {
  type MemberInfo,
  mergedCapabilities,
  mergedInstructions,
} from '../../catalog/endpoint-info.ts';
import type { ListMethod } from '../../catalog/list-kinds.ts';
import { makeOfLists } from '../../catalog/list-work.ts';
import { type Era, type Listing, readCursor } from '../../catalog/listing.ts';
import { invalidParams, type WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { memberText } from '../../jsonrpc/members.ts';
import { type JsonObject, parseString } from '../../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import { META } from '../../mcp/meta.ts';
import { RESOURCES_LIST, TEMPLATES_LIST, TOOLS_LIST } from '../../mcp/methods.ts';
import { MODERN_VERSION } from '../../mcp/versions.ts';
import type { Principal } from '../../ports/principal.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import { SEARCH_LISTING } from './search-service.ts';
import type { View } from './view.ts';

const BAD_CURSOR = invalidParams(
  'unknown cursor, or the list has changed. Request the first page again.',
);

/** Who reads a list. */
interface Reader {
  readonly parts: AggregateParts;
  readonly principal: Principal;
  readonly era: Era;
}

/**
 * The page that a client asks for, as a result of the session era; or why there is none.
 * @param whole the list as it is now, with what the client may not see; an older one is used where the
 *   cursor is of that
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
  if (text === undefined) return yield* listing.page(0, era);
  const cursor = text.length > TEXT_LIMITS.cursor ? undefined : parseString(text, 0, text.length);
  const position = cursor === undefined ? undefined : readCursor(cursor);
  if (position === undefined) return BAD_CURSOR;
  const { digest, start } = position;
  const isNow = digest === (yield* listing.digest());
  const of = isNow ? listing : yield* olderListing(whole.method, digest, reader);
  if (of?.isPageStart(start) !== true) return BAD_CURSOR;
  return yield* of.page(start, era);
}

/** The cursor may be somebody else's: not of servers that everybody has for themselves. */
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

/** A list of an endpoint as it is now. */
export function listingOf(
  view: View,
  method: ListMethod,
  parts: AggregateParts,
): Listing | Promise<Listing> {
  if (method === TOOLS_LIST && parts.search !== undefined) return SEARCH_LISTING;
  if (method !== RESOURCES_LIST && method !== TEMPLATES_LIST) return view.named(method);
  const member = method === RESOURCES_LIST ? 'resources' : 'templates';
  const listings = view.resources();
  return listings instanceof Promise ? listings.then((both) => both[member]) : listings[member];
}

/** What a modern result of the gateway's own begins with. */
export class ModernHead {
  readonly #meta: string;
  readonly #complete: Buffer;
  readonly #list: Buffer;
  /** By the page: long lists are joined once, not for each client. */
  readonly #pages = new WeakMap<Buffer, Buffer>();

  constructor(gatewayVersion: string) {
    this.#meta = `"_meta":${jsonText({ [META.serverInfo]: gatewayInfo(gatewayVersion) })}`;
    this.#complete = Buffer.from(`{"resultType":"complete",${this.#meta},`);
    this.#list = Buffer.from(
      `{"resultType":"complete","ttlMs":0,"cacheScope":"private",${this.#meta},`,
    );
  }

  /** A result of the gateway's own as a modern one. */
  result(result: Buffer): Buffer {
    return Buffer.concat([this.#complete, result.subarray(1)]);
  }

  /** A page as a modern result. */
  page(page: Buffer): Buffer {
    let result = this.#pages.get(page);
    if (result === undefined) {
      result = Buffer.concat([this.#list, page.subarray(1)]);
      this.#pages.set(page, result);
    }
    return result;
  }
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
