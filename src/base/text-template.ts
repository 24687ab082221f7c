// Texts of the configuration with parts that are only known when they are used: files that may change,
// what is known of a client. On the way through YAML and schemas such a part stands in the text
// between NUL characters, which no other text may have: whoever does not expect it refuses it.

/** The content of a file, read again when it is used. */
export interface FilePart {
  readonly kind: 'file';
  /** Absolute. */
  readonly path: string;
  /** What the file held when the configuration was loaded. */
  readonly seen: string;
}

/** What is known of the client. */
export interface PrincipalPart {
  readonly kind: 'name' | 'claim';
  /** Of the claim; empty for the name. */
  readonly claim: string;
}

/** One part after the other; plain text stands for itself. */
export type TextTemplate = readonly (string | FilePart | PrincipalPart)[];

const NUL = '\0';
/** Text, then of each part its kind and two values, then text again. */
const STEP = 4;

/** A part as it stands in a text. */
export function marked(part: FilePart | PrincipalPart): string {
  const values = part.kind === 'file' ? [part.path, part.seen] : [part.claim, ''];
  return [NUL, part.kind, NUL, values[0], NUL, values[1], NUL].join('');
}

/**
 * Reads a text that may have parts.
 * @returns undefined when it has a NUL of its own
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

/** The text with its parts as `render` has them. */
export function rendered(
  text: TextTemplate,
  render: (part: FilePart | PrincipalPart) => string,
): string {
  return text.map((part) => (typeof part === 'string' ? part : render(part))).join('');
}

/** The text as it was at load; what is known of a client as it is written. */
export function seenText(text: TextTemplate): string {
  return rendered(text, (part) => (part.kind === 'file' ? part.seen : writtenPart(part)));
}

/** The same for a text that was not read yet. */
export function plainText(text: string): string {
  const parts = text.includes(NUL) ? parseTextTemplate(text) : undefined;
  return parts === undefined ? text : seenText(parts);
}

/** Whether it depends on the client. */
export function isOfPrincipal(text: TextTemplate): boolean {
  return text.some((part) => typeof part !== 'string' && part.kind !== 'file');
}

/** Whether anything of it may change. */
export function isTemplate(text: TextTemplate): boolean {
  return text.some((part) => typeof part !== 'string');
}
