// Which URIs match a resource template (RFC 6570, levels 1 to 3), to find the server of a URI that is in no
// list. Templates come from servers that may be malicious. So they don't become regular expressions, and the
// caller limits the number of steps.

/** Longer URIs match nothing. */
const MAX_URI = 4096;
const MAX_TEMPLATE = 2048;
const MAX_EXPRESSIONS = 32;

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/;

// RFC 6570 has no hyphens in names of variables, but some servers use them.
const VARIABLES = /^[\w.%-]+(?:\*|:\d{1,4})?(?:,[\w.%-]+(?:\*|:\d{1,4})?)*$/;

/** A literal text, or what an expression may become. */
type Part = string | Run;

interface Run {
  /**
   * The beginning; if there is one, the whole run may be absent. Empty: the run has at least one character.
   */
  readonly lead: string;
  /** Characters that end the run. */
  readonly stops: string;
  /** The least number of characters, if the run has no `lead`. */
  readonly least?: number;
}

/** The remaining budget for matching. */
export interface MatchBudget {
  /** About one step for each character that is compared. Below zero nothing matches any more. */
  left: number;
}

/** What the variables of each operator (RFC 6570 2.2) may become. */
const RUNS: Readonly<Record<string, Run>> = {
  '+': { lead: '', stops: '' },
  '#': { lead: '#', stops: '' },
  '.': { lead: '.', stops: '/?#' },
  '/': { lead: '/', stops: '/?#' },
  ';': { lead: ';', stops: '/?#' },
  '?': { lead: '?', stops: '#' },
  '&': { lead: '&', stops: '#' },
};
// Clients insert values with or without encoding, so more than unreserved characters is allowed.
const PLAIN: Run = { lead: '', stops: '/?#' };
const SEGMENTS: Run = { lead: '/', stops: '?#' };

/** A parsed template. */
export interface UriTemplate {
  readonly parts: readonly Part[];
  /** The least length of a matching URI. */
  readonly leastChars: number;
}

/** The cost of finding that a template can't match. */
const LOOK = 8;
/** Characters of a literal that are compared in one step. */
const COMPARED_CHARS = 8;

/**
 * Parses a template.
 * @param text the `uriTemplate` of a server
 * @returns undefined if it is not a template of RFC 6570, or too large
 */
export function parseTemplate(text: string): UriTemplate | undefined {
  if (text.length > MAX_TEMPLATE) return undefined;
  const parts: Part[] = [];
  let expressions = 0;
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf('{', at);
    const literal = text.slice(at, open < 0 ? text.length : open);
    if (literal.includes('}')) return undefined;
    if (literal !== '') parts.push(literal);
    if (open < 0) break;
    const close = text.indexOf('}', open);
    const run = close < 0 ? undefined : readExpression(text.slice(open + 1, close));
    if (run === undefined || ++expressions > MAX_EXPRESSIONS) return undefined;
    addRun(parts, run);
    at = close + 1;
  }
  const leastChars = parts.reduce((sum, part) => sum + leastOf(part), 0);
  return { parts, leastChars };
}

/** `{a}{b}` becomes one run of at least two characters. */
function addRun(parts: Part[], run: Run): void {
  const last = parts.at(-1);
  const isSame =
    typeof last === 'object' && last.lead === '' && run.lead === '' && last.stops === run.stops;
  if (isSame) parts[parts.length - 1] = { ...run, least: leastOf(last) + 1 };
  else parts.push(run);
}

function leastOf(part: Part): number {
  if (typeof part === 'string') return part.length;
  return part.lead === '' ? (part.least ?? 1) : 0;
}

function readExpression(expression: string): Run | undefined {
  const operator = RUNS[expression.charAt(0)];
  const variables = operator === undefined ? expression : expression.slice(1);
  // Level 4 is accepted, because servers write {path*} for what RFC 6570 calls {+path}.
  if (!VARIABLES.test(variables)) return undefined;
  const isMany = variables.includes('*') || variables.includes(',');
  if (operator === undefined) return variables.includes('*') ? RUNS['+'] : PLAIN;
  return operator.lead === '/' && isMany ? SEGMENTS : operator;
}

/**
 * Whether a URI may come from a template. If in doubt it says yes: an expression may be any text that ends
 * where it must.
 * @param template the result of `parseTemplate`
 * @param uri from any source
 * @param matchBudget reduced by the cost; without budget the result is false
 */
export function matchesTemplate(
  { parts, leastChars }: UriTemplate,
  uri: string,
  matchBudget: MatchBudget = { left: Number.POSITIVE_INFINITY },
): boolean {
  matchBudget.left -= LOOK;
  if (matchBudget.left < 0 || uri.length > MAX_URI || uri.length < leastChars) return false;
  if (!fitsAtEnds(parts, uri)) return false;
  // For each position in the URI: whether the parts so far can end there.
  let reached: Uint8Array = new Uint8Array(uri.length + 1);
  reached[0] = 1;
  for (const part of parts) {
    matchBudget.left -= uri.length;
    if (matchBudget.left < 0) return false;
    reached =
      typeof part === 'string'
        ? afterText(part, uri, reached, matchBudget)
        : afterRun(part, uri, reached);
  }
  return reached[uri.length] === 1;
}

/** Most templates that don't match are recognized by their beginning or end. */
function fitsAtEnds(parts: readonly Part[], uri: string): boolean {
  const first = parts[0];
  const last = parts.at(-1);
  if (typeof first === 'string' && !uri.startsWith(first)) return false;
  return typeof last !== 'string' || uri.endsWith(last);
}

function afterText(
  text: string,
  uri: string,
  from: Uint8Array,
  matchBudget: MatchBudget,
): Uint8Array {
  const to = new Uint8Array(from.length);
  for (let at = 0; at + text.length <= uri.length; at++) {
    if (from[at] !== 1) continue;
    matchBudget.left -= text.length / COMPARED_CHARS;
    if (uri.startsWith(text, at)) to[at + text.length] = 1;
  }
  return to;
}

function afterRun({ lead, stops, least = 1 }: Run, uri: string, from: Uint8Array): Uint8Array {
  // Without a lead, the run needs at least one character. With one, it may be absent.
  const to = lead === '' ? new Uint8Array(from.length) : Uint8Array.from(from);
  // The start of the current run. Of several possible starts the first one, which makes the longest run.
  let start = -1;
  for (let at = 0; at < uri.length; at++) {
    const char = uri.charAt(at);
    const goesOn = !stops.includes(char);
    const starts = from[at] === 1 && (lead === '' ? goesOn : char === lead);
    if (start >= 0 && !goesOn) start = -1;
    if (starts && start < 0) start = at;
    if (start >= 0 && (lead !== '' || at + 1 - start >= least)) to[at + 1] = 1;
  }
  return to;
}

/**
 * The scheme of a URI or template, in lower case.
 * @param text a URI or a template
 * @returns undefined if it has none, or the scheme contains an expression
 */
export function schemeOf(text: string): string | undefined {
  return SCHEME.exec(text)?.[0].toLowerCase();
}
