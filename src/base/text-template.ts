// Texts of the configuration with parts that are known only when they are used: files that may change, and
// properties of a client. While the YAML is parsed and checked, such a part is kept in the text between NUL
// characters. No other text may contain NUL, so code that does not expect a template refuses it.

/** The content of a file, read when it is used. */
export interface FilePart {
  readonly kind: 'file';
  /** Absolute. */
  readonly path: string;
  /** The content when the configuration was loaded. */
  readonly seen: string;
}

/** A property of the client. */
export interface PrincipalPart {
  readonly kind: 'name' | 'claim';
  /** The name of the claim; empty for the client's name. */
  readonly claim: string;
}

/** The parts in order; plain text is a string. */
export type TextTemplate = readonly (string | FilePart | PrincipalPart)[];

const NUL = '\0';
/** Splitting at NUL gives: text, then for each part its kind and two values, then text again. */
const STEP = 4;

/** Encodes a part, to be kept in a text. */
export function marked(part: FilePart | PrincipalPart): string {
  const values = part.kind === 'file' ? [part.path, part.seen] : [part.claim, ''];
  return [NUL, part.kind, NUL, values[0], NUL, values[1], NUL].join('');
}

/**
 * Parses a text that may contain parts.
 * @returns undefined if it contains another NUL
 */
export function parseTextTemplate(text: string): TextTemplate | undefined {
  const pieces = text.split(NUL);
  if (pieces.length % STEP !== 1) return undefined;
  const parts: (string | FilePart | PrincipalPart)[] = [];
  for (let at = 0; at < pieces.length; at += STEP) {
    const [plain = '', kind, first = '', second = ''] = pieces.slice(at, at + STEP);
    if (plain !== '') parts.push(plain);
    if (kind === 'file') parts.push({ kind, path: first, seen: second });
    else if (kind === 'name' || kind === 'claim') parts.push({ kind, claim: first });
    else if (kind !== undefined) return undefined;
  }
  return parts;
}

/** A part as it is written in the configuration. */
export function writtenPart({ kind, claim }: PrincipalPart): string {
  return kind === 'name' ? '${principal.name}' : `\${principal.claims.${claim}}`;
}

/** The text, with its parts replaced by what `render` returns. */
export function rendered(
  text: TextTemplate,
  render: (part: FilePart | PrincipalPart) => string,
): string {
  return text.map((part) => (typeof part === 'string' ? part : render(part))).join('');
}

/** The text as it was when it was loaded. Properties of a client stay as they are written. */
export function seenText(text: TextTemplate): string {
  return rendered(text, (part) => (part.kind === 'file' ? part.seen : writtenPart(part)));
}

/** Like `seenText`, for a text that is not parsed yet. */
export function plainText(text: string): string {
  const parts = text.includes(NUL) ? parseTextTemplate(text) : undefined;
  return parts === undefined ? text : seenText(parts);
}

/** Whether it depends on the client. */
export function isOfPrincipal(text: TextTemplate): boolean {
  return text.some((part) => typeof part !== 'string' && part.kind !== 'file');
}

/** Whether any part of it may change. */
export function isTemplate(text: TextTemplate): boolean {
  return text.some((part) => typeof part !== 'string');
}
