// Edits of texts that may be large: in one pass, which takes several turns of the event loop for a large
// text.
import { GatheredBytes } from '../base/gathered-bytes.ts';
import { inTurns, LOOK_COST, type StepsTo } from '../base/steps.ts';
import { TurnQuota } from '../base/turns.ts';
import type { Frame } from './frame.ts';
import { OPEN_BRACE } from './json-text.ts';
import { isKey } from './keys.ts';
import { lastMember, type Member, MemberSpans } from './members.ts';
import { Elements } from './parse.ts';
import { replaceSpan } from './splice.ts';
import { viewOf } from './text-walk.ts';

/** An edit in steps: yields the number of bytes that each step read, and returns the new text. */
export type Steps = StepsTo<Buffer>;

/** An edit of a text. */
export type Edit = (text: Buffer) => Steps;

/** What is edited in one turn of the event loop, over all texts. */
const IN_TURN = new TurnQuota(512 * 1024);

/** The result of an edit; a promise if it takes more than one turn. */
export function finishedInTurns(steps: Steps): Buffer | Promise<Buffer> {
  return inTurns(steps, IN_TURN);
}

/** Like `lastMember`, in steps. */
export function* memberSteps(text: Buffer, key: string): StepsTo<Member | undefined> {
  const name = Buffer.from(key);
  const spans = new MemberSpans(text, 0, text.length);
  let last: Member | undefined;
  let looked = 0;
  while (spans.next()) {
    const { keyStart, keyEnd, valueStart, valueEnd } = spans;
    if (isKey(text, keyStart, keyEnd, name)) last = { key, keyStart, valueStart, valueEnd };
    if (valueEnd - looked <= LOOK_COST) continue;
    yield valueEnd - looked;
    looked = valueEnd;
  }
  yield text.length - looked;
  return last;
}

/** Edits one member of an object. */
export function* within(text: Buffer, key: string, edit: Edit): Steps {
  if (text[0] !== OPEN_BRACE) return text;
  const member = yield* memberSteps(text, key);
  if (member === undefined) return text;
  const value = viewOf(text, member.valueStart, member.valueEnd);
  const edited = yield* edit(value);
  if (edited === value) return text;
  yield text.length;
  return replaceSpan(text, member.valueStart, member.valueEnd, edited);
}

/**
 * Edits the values of an object, in one pass. A server may send very many.
 * @param mark bytes that every value that may change contains; absent: any value may change
 */
export function* eachValue(text: Buffer, edit: Edit, mark?: Buffer): Steps {
  const spans = new MemberSpans(text, 0, text.length);
  const next = (): { start: number; end: number } | undefined =>
    spans.next() ? { start: spans.valueStart, end: spans.valueEnd } : undefined;
  return yield* eachSpan(text, next, edit, mark);
}

/**
 * Edits the items of an array, in one pass.
 * @param mark bytes that every item that may change contains; absent: any item may change
 */
export function* each(list: Buffer, edit: Edit, mark?: Buffer): Steps {
  const elements = new Elements(list);
  return yield* eachSpan(list, () => (elements.next() ? elements : undefined), edit, mark);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** An edit returns this for an item to be removed. */
export const REMOVED = Buffer.alloc(0);

function* eachSpan(
  text: Buffer,
  next: () => Span | undefined,
  edit: Edit,
  mark: Buffer | undefined,
): Steps {
  const edited = new EditedItems(text);
  const marks = mark === undefined ? undefined : new Marks(text, mark);
  let looked = 0;
  for (let span = next(); span !== undefined; span = next()) {
    const { start, end } = span;
    edited.begin(start, end);
    // Nothing after this changes.
    if (marks?.isOver === true) break;
    if (end - looked > LOOK_COST) {
      yield end - looked;
      looked = end;
    }
    if (marks?.isIn(start, end) === false) continue;
    const value = viewOf(text, start, end);
    const changed = yield* edit(value);
    if (changed === REMOVED) edited.remove();
    else if (changed !== value) edited.replace(changed);
  }
  if (!edited.isOther) return text;
  yield text.length;
  return edited.take();
}

/** Finds the places of a mark in a text, in one pass. */
class Marks {
  readonly #text: Buffer;
  readonly #mark: Buffer;
  #at: number;

  constructor(text: Buffer, mark: Buffer) {
    this.#text = text;
    this.#mark = mark;
    this.#at = text.indexOf(mark);
  }

  get isOver(): boolean {
    return this.#at < 0;
  }

  /** Whether a mark begins in a span. Spans must be asked for in order. */
  isIn(start: number, end: number): boolean {
    if (this.#at >= 0 && this.#at < start) this.#at = this.#text.indexOf(this.#mark, start);
    return this.#at >= 0 && this.#at < end;
  }
}

/** A list whose items are replaced or removed one after another. */
class EditedItems {
  readonly #text: Buffer;
  readonly #edited = new GatheredBytes();
  /** Up to here the text was copied or left out. */
  #copied = 0;
  #start = 0;
  #end = 0;
  /** The end of the item before, and whether all items before were removed. */
  #before = 0;
  #isFirst = true;
  isOther = false;

  constructor(text: Buffer) {
    this.#text = text;
  }

  /** Goes to the next item. */
  begin(start: number, end: number): void {
    if (this.#end > 0 && this.#copied === this.#end && this.#isFirst) this.#copied = start;
    else if (this.#end > 0 && this.#copied < this.#end) this.#isFirst = false;
    this.#before = this.#end;
    this.#start = start;
    this.#end = end;
  }

  replace(item: Buffer): void {
    this.#leaveOut(this.#start);
    this.#edited.push(item);
    this.#isFirst = false;
  }

  /** With the comma before it, or the one after it if all items before were removed. */
  remove(): void {
    this.#leaveOut(this.#isFirst ? this.#start : this.#before);
  }

  #leaveOut(from: number): void {
    this.#edited.push(this.#text.subarray(this.#copied, from));
    this.#copied = this.#end;
    this.isOther = true;
  }

  take(): Buffer {
    this.#edited.push(this.#text.subarray(this.#copied));
    return this.#edited.take();
  }
}

/**
 * Edits the items of a list in a result, in several turns if it is large.
 * @param mark bytes that every item that may change contains; absent: any item may change
 * @returns the answer itself if nothing changes
 */
export function withEditedList(
  answer: Frame,
  key: string,
  edit: Edit,
  mark?: Buffer,
): Frame | Promise<Frame> {
  const { bytes, resultStart, resultEnd } = answer;
  const member = lastMember(bytes, resultStart, resultEnd, key);
  if (member === undefined) return answer;
  const { valueStart, valueEnd } = member;
  const list = viewOf(bytes, valueStart, valueEnd);
  const place = (edited: Buffer): Frame => {
    if (edited === list) return answer;
    const text = replaceSpan(bytes, valueStart, valueEnd, edited);
    return answer.replaced(text, valueEnd, edited.length - list.length);
  };
  const edited = finishedInTurns(each(list, edit, mark));
  return edited instanceof Promise ? edited.then(place) : place(edited);
}
