// Edits of texts that can be large: in one pass, and in several turns of the event loop where they are.
import { GatheredBytes } from '../base/gathered-bytes.ts';
import { TurnQuota, turnFor } from '../base/turns.ts';
import { OPEN_BRACE } from './json-text.ts';
import { lastMember, MemberSpans } from './members.ts';
import { Elements } from './parse.ts';
import { replaceSpan } from './splice.ts';

/** Work on a text that can be interrupted: yields the bytes that were looked at, and gives the new text. */
export type Steps = Generator<number, Buffer>;

export type Edit = (text: Buffer) => Steps;

/** What is worked on in one turn of the event loop, of all texts. */
const IN_TURN = new TurnQuota(512 * 1024);
/** How often the work looks whether its turn is over. */
const LOOK_BYTES = 16 * 1024;
/** Texts of so many bytes are worked on in several turns. */
const LARGE_BYTES = 128 * 1024;

/** The text of an edit, in a later turn if `length` bytes are many. */
export function finishedInTurns(steps: Steps, length: number): Buffer | Promise<Buffer> {
  return length <= LARGE_BYTES ? finished(steps) : inTurns(steps);
}

export function finished(steps: Steps): Buffer {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

async function inTurns(steps: Steps): Promise<Buffer> {
  let bytes = 0;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    bytes += step.value;
    if (bytes < LOOK_BYTES) continue;
    IN_TURN.spend(bytes);
    bytes = 0;
    if (IN_TURN.isSpent) await turnFor(IN_TURN);
  }
}

/** Changes one member of an object. */
export function* within(text: Buffer, key: string, edit: Edit): Steps {
  if (text[0] !== OPEN_BRACE) return text;
  yield text.length;
  const member = lastMember(text, 0, text.length, key);
  if (member === undefined) return text;
  const value = text.subarray(member.valueStart, member.valueEnd);
  const edited = yield* edit(value);
  if (edited === value) return text;
  yield text.length;
  return replaceSpan(text, member.valueStart, member.valueEnd, edited);
}

/**
 * Changes the values of an object, of which a server may have put in many: in one pass.
 * @param mark what a value has that could change; absent: any could
 */
export function* eachValue(text: Buffer, edit: Edit, mark?: Buffer): Steps {
  const spans = new MemberSpans(text, 0, text.length);
  const next = (): { start: number; end: number } | undefined =>
    spans.next() ? { start: spans.valueStart, end: spans.valueEnd } : undefined;
  return yield* eachSpan(text, next, edit, mark);
}

/**
 * Changes the items of an array, in one pass.
 * @param mark what an item has that could change; absent: any could
 */
export function* each(list: Buffer, edit: Edit, mark?: Buffer): Steps {
  const elements = new Elements(list);
  return yield* eachSpan(list, () => (elements.next() ? elements : undefined), edit, mark);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function* eachSpan(
  text: Buffer,
  next: () => Span | undefined,
  edit: Edit,
  mark: Buffer | undefined,
): Steps {
  const edited = new GatheredBytes();
  let copied = 0;
  let looked = 0;
  let marked = mark === undefined ? 0 : text.indexOf(mark);
  // Behind the last mark nothing changes.
  for (let span = next(); span !== undefined && marked >= 0; span = next()) {
    const { start, end } = span;
    if (end - looked > LOOK_BYTES) {
      yield end - looked;
      looked = end;
    }
    if (mark !== undefined && marked < start) marked = text.indexOf(mark, start);
    if (mark !== undefined && (marked < 0 || marked >= end)) continue;
    const value = text.subarray(start, end);
    const changed = yield* edit(value);
    if (changed === value) continue;
    edited.push(text.subarray(copied, start));
    edited.push(changed);
    copied = end;
  }
  if (copied === 0) return text;
  edited.push(text.subarray(copied));
  yield text.length;
  return edited.take();
}
