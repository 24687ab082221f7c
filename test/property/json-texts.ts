// Arbitrary JSON texts that keep what they mean beside how they are written: white space anywhere,
// numbers and strings in every spelling, members twice or in other case.
import fc from 'fast-check';

/** One value and its text. */
export interface Written {
  readonly text: string;
  readonly value: unknown;
}

/** One member of an object: the key with its meaning, and the value. */
export interface Member {
  readonly key: string;
  readonly keyText: string;
  readonly value: Written;
}

/** An object that remembers its members in order, twins included. */
export interface WrittenObject extends Written {
  readonly members: readonly Member[];
}

const space = fc.constantFrom('', '', '', ' ', '\n', '\r\n', '\t ', '  ');

const NUMBERS = [
  '0',
  '-0',
  '1',
  '7',
  '-1',
  '1.0',
  '1.5',
  '1e2',
  '1E+2',
  '-1.25e-3',
  '9007199254740993',
].concat(['1e400', '123456789012345678901234567890', '0.0', '10', '255']);

/** A number as somebody may write it. */
export const numberText: fc.Arbitrary<Written> = fc
  .oneof(
    fc.constantFrom(...NUMBERS),
    fc.integer().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  )
  .map((text) => ({ text, value: JSON.parse(text) as unknown }));

/** A string, some of its characters written as escapes. */
export function stringText(content: fc.Arbitrary<string>): fc.Arbitrary<Written> {
  return fc.tuple(content, fc.nat()).map(([value, mask]) => ({ text: spell(value, mask), value }));
}

const content = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    '\n',
    '\u2028',
    '\0',
    '__proto__',
    '"id":7',
    ',"id":7}',
    '💥',
    '\ud800',
  ),
);

function spell(value: string, mask: number): string {
  let text = '';
  for (let at = 0; at < value.length; at++) {
    const isEscaped = ((mask >> (at % 20)) & 3) === 3;
    const unit = value.charCodeAt(at);
    // A lone surrogate has no UTF-8 form, so it can only be written as an escape.
    const isBroken = unit >= 0xd800 && unit <= 0xdfff && !isPaired(value, at);
    if (isBroken || (isEscaped && (unit < 0xd800 || unit > 0xdfff))) {
      text += `\\u${unit.toString(16).padStart(4, '0')}`;
    } else
      text += JSON.stringify(value[at])
        .slice(1, -1)
        .replace(/^\\u(?=d[89a-f])/i, '\\u');
  }
  return `"${repair(value, text)}"`;
}

// JSON.stringify escapes each half of a pair when it sees it alone: put the pair back together.
function repair(value: string, text: string): string {
  return value === ''
    ? ''
    : text.replaceAll(/\\u(d[89ab]..)\\u(d[c-f]..)/gi, (_, high, low) =>
        String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16)),
      );
}

function isPaired(value: string, at: number): boolean {
  const code = value.codePointAt(at) ?? 0;
  if (code > 0xffff) return true;
  return at > 0 && (value.codePointAt(at - 1) ?? 0) > 0xffff;
}

function bracketed(open: string, parts: readonly string[], close: string, gap: string): string {
  return `${open}${gap}${parts.join(`${gap},${gap}`)}${gap}${close}`;
}

/** An object made of given members. */
export function objectOf(members: readonly Member[], gap: string): WrittenObject {
  const parts = members.map(({ keyText, value }) => `${keyText}${gap}:${gap}${value.text}`);
  const text = bracketed('{', parts, '}', gap);
  return { text, value: JSON.parse(text) as unknown, members };
}

/** A member with this key. */
export function member(
  keys: fc.Arbitrary<string>,
  value: fc.Arbitrary<Written>,
): fc.Arbitrary<Member> {
  return fc
    .tuple(stringText(keys), value)
    .map(([key, written]) => ({ key: key.value as string, keyText: key.text, value: written }));
}

/** An object whose members come from `members`. */
export function objectText(
  members: fc.Arbitrary<Member>,
  maxLength = 6,
): fc.Arbitrary<WrittenObject> {
  return fc
    .tuple(fc.array(members, { maxLength }), space)
    .map(([list, gap]) => objectOf(list, gap));
}

const LITERALS: readonly Written[] = [
  { text: 'true', value: true },
  { text: 'false', value: false },
  { text: 'null', value: null },
];

/** Any JSON value. */
export const anyText: fc.Arbitrary<Written> = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(...LITERALS),
    numberText,
    stringText(content),
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), space).map(([items, gap]) => {
      const text = bracketed(
        '[',
        items.map((item) => item.text),
        ']',
        gap,
      );
      return { text, value: JSON.parse(text) as unknown };
    }),
    objectText(member(content, tie('value')), 4),
  ),
})).value;
