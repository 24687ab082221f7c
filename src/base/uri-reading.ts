// Reads a URI in one canonical form, in which it is compared with rules (RFC 3986 6.2.2). A URI that servers
// could read in several ways has no such form, because the effect of a rule would depend on the server. So
// these are not accepted: escaped slashes and dots, escaped escapes, backslashes, control characters,
// characters that some systems treat as a slash or a dot, and segments of dots.
import { TEXT_LIMITS } from './text-limits.ts';

/** The readings of a URI. */
export interface UriReading {
  /** Scheme and host in lower case. Only reserved characters are still escaped. */
  readonly normal: string;
  /** The same without path parameters (`;x` behind a segment, RFC 3986 3.3), which many servers remove. */
  readonly bare: string;
  /** Without any escapes. */
  readonly decoded: string;
  /** The file that a server may open for it, as `file:///path`; undefined if it can't be a file. */
  readonly file: string | undefined;
}

let last: { readonly uri: string; readonly reading: UriReading | undefined } | undefined;

/**
 * Reads a URI or a template.
 * @returns undefined if it can be read in no way, or in several
 */
export function readingOf(uri: string): UriReading | undefined {
  // The same URI is checked for each rule and each server in turn.
  if (last?.uri !== uri) last = { uri, reading: read(uri) };
  return last.reading;
}

function read(uri: string): UriReading | undefined {
  if (uri.length > TEXT_LIMITS.uri || isOddText(uri)) return undefined;
  const [, path = '', rest = ''] = PATH.exec(uri) ?? [];
  const decodedPath = decodedOnce(path);
  if (decodedPath === undefined || ESCAPED_SEPARATOR.test(path)) return undefined;
  const decoded = decodedPath + decodedFully(rest);
  if (CONTROL.test(decoded) || MANY_MARKS.test(decoded)) return undefined;
  if (isMistakable(decodedPath)) return undefined;
  if (hasDotSegment(decoded) || hasDotSegment(folded(decoded))) return undefined;
  if (hasEmptySegment(decodedPath.replace(ORIGIN, ''), WEB.test(uri))) return undefined;
  const normal = normalForm(uri);
  return {
    normal,
    bare: withoutParameters(normal),
    decoded: composed(inLowerCase(decoded)),
    file: openedFile(composed(decodedPath)),
  };
}

/** Everything up to the path, then query and fragment. */
const PATH = /^([^?#]*)(.*)$/s;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** A scheme, or a glob that may match one. */
const SCHEME_GLOB = /^[a-z*?][a-z0-9+.*?-]*:/i;
/** Scheme and host. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:(?:\/\/[^/?#]*)?/i;
const WEB = /^https?:/i;
/** Schemes whose host is not case-sensitive. */
const HOST_WITHOUT_CASE = /^(?:https?|wss?|ftp|file):/i;
const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const ONE_ESCAPE = /(%[0-9a-f]{2})/i;
const LONE_PERCENT = /%(?![0-9a-f]{2})/gi;
const MAX_ESCAPES = 3;
/** Slash, backslash and dot: some servers decode before they split the path, others after. */
const ESCAPED_SEPARATOR = /\\|%(?:2f|5c|2e)/i;
/** An escape that is still there after decoding. */
const ESCAPE = /%(?:[0-9a-f]{2}|u[0-9a-f]{4})/i;
const CONTROL = /\p{Cc}/u;
/**
 * Characters that normalization, fonts or code pages of some systems turn into a slash, a backslash or a dot:
 * fractions, divisions, full-width forms, one dot leader.
 */
const LOOK_ALIKE =
  /[\u2024\u2044\u2100\u2101\u2105\u2106\u2215\u2216\u29f5\u29f8\u29f9\ufe52\ufe68\uff0e\uff0f\uff3c]/;
/** Ranges of characters that some systems convert to ASCII (UAX #15, NFKC). */
const FOLDED =
  /[\u00aa-\u00ba\u0132\u0133\u017f\u01c7-\u01f3\u02b0-\u02e3\u037e\u1d2c-\u1dbb\u1fef\u2024-\u217f\u2460-\u24ea\u2a74-\u2c7d\u3250-\u33ff\ua7f1-\ua7f4\ufb00-\ufb29\ufe10-\ufe6b\uff01-\uff61\u{107a5}\u{1ccd6}-\u{1ccf9}\u{1d400}-\u{1d7ff}\u{1f100}-\u{1f190}\u{1fbf0}-\u{1fbf9}]/gu;
/** A longer run of combining marks would take quadratic time (UAX #15, Stream-Safe). */
// Matches only at the beginning of a run. Otherwise each mark would start a new try.
const MANY_MARKS = /(?<!\p{M})\p{M}{31}/u;
const SEGMENT_END = /[\\/?#]/;
/** Characters that may come before a path, for example in the value of a parameter. */
const BEFORE_PATH = /[:=&]/;
/** Some file systems ignore these characters in names. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;
const UNSEEN = /[\s\p{Default_Ignorable_Code_Point}]/u;
const DOT = /[.\u3002]/;
const FILE = /^file:(?:\/\/[^/?#]*)?(.*)$/is;
const FILE_END = /[?#]/;
/** General and sub-delimiters (RFC 3986 2.2), and the percent sign. */
const RESERVED = /[:/?#[\]@!$&'()*+,;=%]/g;
const ASCII = /^[\0-\x7f]*$/;

/** Texts that parsers trim, or that are not well-formed Unicode. */
function isOddText(uri: string): boolean {
  return uri.trim() !== uri || !uri.isWellFormed();
}

function isMistakable(path: string): boolean {
  return LOOK_ALIKE.test(path) || ESCAPE.test(path) || ESCAPE.test(folded(path));
}

/** Whether a segment leads to its own folder or to the parent. */
function hasDotSegment(text: string): boolean {
  if (!DOT.test(text)) return false;
  return text.split(SEGMENT_END).some((segment, at) => {
    if (at > 0 && dotsAlone(segment) > 0) return true;
    return segment.split(BEFORE_PATH).some((piece) => dotsAlone(piece) > 1);
  });
}

/** Most file systems read two slashes as one; for web URLs they are two. */
function hasEmptySegment(path: string, isWeb: boolean): boolean {
  const segments = path.split('/');
  return segments.some((segment, at) => {
    const isInside = at > 0 && at < segments.length - 1;
    return segment === '' ? isInside && !isWeb : at > 0 && dotsAlone(segment) === 0;
  });
}

/**
 * The number of dots in a segment that contains nothing else, for servers that remove parameters, spaces and
 * invisible characters.
 * @returns -1 if it contains something else
 */
function dotsAlone(segment: string): number {
  let dots = 0;
  for (const character of segment) {
    if (character === ';') break;
    if (DOT.test(character)) dots++;
    else if (!UNSEEN.test(character)) return -1;
  }
  return dots;
}

/** A URI, or a glob of URIs, without path parameters (`;x`); its query stays. */
export function withoutParameters(text: string): string {
  if (!text.includes(';')) return text;
  const [, path = '', rest = ''] = PATH.exec(text) ?? [];
  const segments = path.split('/').map((segment) => cutAt(segment, ';'));
  return segments.join('/') + rest;
}

function cutAt(text: string, end: RegExp | string): string {
  return text.split(end, 1)[0] ?? '';
}

/** A `file:` URI or a bare path, or a glob of them, as a URI without host; undefined for anything else. */
export function fileOf(text: string, scheme = SCHEME_GLOB): string | undefined {
  const path = FILE.exec(text)?.[1] ?? (scheme.test(text) ? undefined : text);
  return path === undefined ? undefined : `file:///${path.replace(/^\//, '')}`;
}

/** A URI or a glob of URIs in the normal form. Escapes that are not UTF-8 stay as they are. */
export function normalForm(text: string): string {
  const decoded = text.replace(LONE_PERCENT, '%25').replace(ESCAPES, (run) => {
    const bytes = bytesOf(run);
    if (!isText(bytes)) return run.toUpperCase();
    return bytes.toString('utf8').replace(RESERVED, (one) => `%${hexOf(one)}`);
  });
  return composed(inLowerCase(decoded));
}

/** A glob without escapes. Escaped wildcards stay escaped, because they mean the character itself. */
export function decodedGlob(text: string): string {
  const decoded = text.replace(ESCAPES, (run) =>
    bytesOf(run)
      .toString('utf8')
      .replace(/[*?]/g, (one) => `%${hexOf(one)}`),
  );
  return composed(inLowerCase(decoded));
}

/** Scheme and host in lower case, for any scheme. */
export function withLowerHost(text: string): string {
  return text.replace(ORIGIN, (origin) => origin.toLowerCase());
}

/** Scheme in lower case, and host if it is not case-sensitive. */
function inLowerCase(text: string): string {
  const part = HOST_WITHOUT_CASE.test(text) ? ORIGIN : SCHEME;
  return text.replace(part, (origin) => origin.toLowerCase());
}

/** Letters with accents as one character each (NFC), outside of escapes. */
function composed(text: string): string {
  if (ASCII.test(text)) return text;
  const pieces = text.split(ONE_ESCAPE);
  return pieces.map((piece, at) => (at % 2 === 0 ? piece.normalize('NFC') : piece)).join('');
}

/** The file that is opened: path parameters, query and fragment don't count. */
export function openedFile(decoded: string): string | undefined {
  const file = fileOf(withoutParameters(decoded), SCHEME);
  return file && cutAt(file, FILE_END);
}

/** A text as systems may read it that convert characters to ASCII one by one. */
export function folded(text: string): string {
  return ASCII.test(text) ? text : text.replace(FOLDED, (one) => one.normalize('NFKC'));
}

/** A file name as systems may read it that convert characters to ASCII, ignore case, or trim spaces. */
export function looseName(file: string): string {
  const segments = folded(file).replace(IGNORED, '').toLowerCase().split('/');
  return segments.map((segment) => segment.trim()).join('/');
}

/** @returns undefined if an escape is not UTF-8 */
function decodedOnce(text: string): string | undefined {
  let isWhole = true;
  const decoded = text.replace(ESCAPES, (run) => {
    const bytes = bytesOf(run);
    isWhole &&= isText(bytes);
    return bytes.toString('utf8');
  });
  return isWhole ? decoded : undefined;
}

/** Decodes repeatedly, until no escape is left. Escapes that are not UTF-8 stay. */
function decodedFully(text: string): string {
  let decoded = text;
  for (let round = 0; round < MAX_ESCAPES && decoded.includes('%'); round++) {
    decoded = decoded.replace(ESCAPES, (run) => bytesOf(run).toString('utf8'));
  }
  return decoded;
}

function bytesOf(run: string): Buffer {
  return Buffer.from(run.replaceAll('%', ''), 'hex');
}

/** Whether bytes are UTF-8. */
function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes);
}

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
}
