// Which URIs a resource template stands for (RFC 6570, levels 1 to 3), to find the server of a URI
// that no list named. Templates come from servers that nobody vouches for, so none becomes a regular
// expression, and whoever matches says how many steps that may take.

/** Longer ones match nothing. */
const MAX_URI = 4096;
const MAX_TEMPLATE = 2048;
const MAX_EXPRESSIONS = 32;

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/;

// Hyphens are no part of a variable's name in RFC 6570, but of some servers' templates.
const VARIABLES = /^[\w.%-]+(?:\*|:\d{1,4})?(?:,[\w.%-]+(?:\*|:\d{1,4})?)*$/;

/** A text that stands as it is, or what an expression can become. */
type Part = string | Run;

interface Run {
  /** Comes first; then the whole may be absent too. Empty: at least one character is there. */
  readonly lead: string;
  /** Characters that end it. */
  readonly stops: string;
  /** How many characters it has at least, when it has no lead. */
  readonly least?: number;
}

/** What may still be spent on matching. */
export interface MatchBudget {
  /** About one for each character that is looked at. Below zero: nothing matches any more. */
  left: number;
}

/** What each operator of RFC 6570 2.2 makes of its variables. */
const RUNS: Readonly<Record<string, Run>> = {
  '+': { lead: '', stops: '' },
  '#': { lead: '#', stops: '' },
  '.': { lead: '.', stops: '/?#' },
  '/': { lead: '/', stops: '/?#' },
  ';': { lead: ';', stops: '/?#' },
  '?': { lead: '?', stops: '#' },
  '&': { lead: '&', stops: '#' },
};
// Clients fill in what they have, encoded or not, so more than unreserved characters is let through.
const PLAIN: Run = { lead: '', stops: '/?#' };
const SEGMENTS: Run = { lead: '/', stops: '?#' };

/** A template that can be matched. */
export interface UriTemplate {
  readonly parts: readonly Part[];
  /** How long a URI of it is at least. */
  readonly leastChars: number;
}

/** What it costs to see that a template does not fit at all. */
const LOOK = 8;
/** Characters of a literal that are compared in one step. */
const COMPARED_CHARS = 8;

/**
 * Reads a template.
 *
 * @param text the `uriTemplate` of a server
 * @returns undefined when it is no template of RFC 6570 or too large
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

/** `{a}{b}` is one run of two characters or more. */
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
  // Level 4 is let through: servers write {path*} for what RFC 6570 calls {+path}.
  if (!VARIABLES.test(variables)) return undefined;
  const isMany = variables.includes('*') || variables.includes(',');
  if (operator === undefined) return variables.includes('*') ? RUNS['+'] : PLAIN;
  return operator.lead === '/' && isMany ? SEGMENTS : operator;
}

/**
 * Whether a URI can have come from a template. Says yes rather too often than not: an expression
 * may be anything that ends where it must.
 *
 * @param template what `parseTemplate` made
 * @param uri a URI, wherever it comes from
 * @param matchBudget what may be spent; once that is over the answer is no
 */
export function matchesTemplate(
  { parts, leastChars }: UriTemplate,
  uri: string,
  matchBudget: MatchBudget = { left: Number.POSITIVE_INFINITY },
): boolean {
  matchBudget.left -= LOOK;
  if (matchBudget.left < 0 || uri.length > MAX_URI || uri.length < leastChars) return false;
  if (!fitsAtEnds(parts, uri)) return false;
  // For each place in the URI: whether the parts so far can end there.
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

/** Nearly all templates that don't match are told by what they begin or end with. */
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
  // Without a lead the run needs some characters, with one it may be absent.
  const to = lead === '' ? new Uint8Array(from.length) : Uint8Array.from(from);
  // Where the run began that goes on here: of several the first, which is the longest.
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
 *
 * @param text a URI or a template
 * @returns undefined when it has none, or an expression stands in it
 */
export function schemeOf(text: string): string | undefined {
  return SCHEME.exec(text)?.[0].toLowerCase();
}
