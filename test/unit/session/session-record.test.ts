// What is known of sessions besides their ids, and how the next process comes to know it.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SessionRecord } from '../../../src/session/session-record.ts';

const LIMITS = { max: 5, maxAge: 3_600_000 };

class Kept {
  readonly lines: string[] = [];
  readonly record: SessionRecord;

  constructor(lines: readonly string[] = [], limits = LIMITS) {
    this.record = new SessionRecord(limits);
    for (const line of lines) expect(this.record.read(line), line).toBe(true);
    this.record.keepWith((line) => void this.lines.push(line));
  }

  wanted(id: string): { level?: string | undefined; uris: string[] } | undefined {
    const wanted = this.record.wantedBy(id);
    return wanted && { level: wanted.level, uris: [...wanted.uris] };
  }
}

function session(id: string): { id: string; openedMs: number } {
  return { id, openedMs: performance.now() };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('the record of sessions', () => {
  it('is the same for who reads its changes, and for who reads all of it', () => {
    const { record, lines } = new Kept();
    record.setLevel(session('a'), 'error');
    record.watch(session('a'), 'x://1');
    record.watch(session('a'), 'x://1');
    record.watch(session('a'), 'x://2');
    record.watch(session('b'), 'x://1');
    record.unwatch(session('b'), 'x://1');
    record.unwatch(session('b'), 'x://9');
    record.watch(session('c'), 'x://3');
    record.forget('c');
    record.forget('nobody');
    record.watch(session('d'), 'x://4');
    record.ended('d', Date.now());
    record.setLevel(session('a'), 'debug');
    expect(lines).toHaveLength(10);
    for (const text of [lines, new Kept(lines).record.lines()]) {
      const next = new Kept(text);
      expect(next.wanted('a')).toEqual({ level: 'debug', uris: ['x://1', 'x://2'] });
      for (const id of ['b', 'c', 'd']) expect(next.wanted(id), id).toBeUndefined();
      expect(['a', 'b', 'c', 'd'].filter((id) => next.record.hasEnded(id))).toEqual(['d']);
    }
    // Nobody who reads it has an id.
    for (const line of lines) expect(line).not.toMatch(/"[abcd]"/);
  });

  it('forgets what is too old by itself', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { record, lines } = new Kept();
    record.watch(session('a'), 'x://1');
    record.ended('b', Date.now());
    vi.setSystemTime(Date.now() + LIMITS.maxAge - 1_000);
    const later = new Kept(lines);
    expect(later.record.lines()).toHaveLength(2);
    expect(later.record.hasEnded('b')).toBe(true);
    vi.setSystemTime(Date.now() + 2_000);
    expect(later.record.lines()).toEqual([]);
    expect(later.record.size).toBe(0);
    expect(new Kept(lines).record.size).toBe(0);
  });

  it('has a bound for sessions, what one watches, and those that are over', () => {
    const { record, wanted } = ((kept) => ({
      record: kept.record,
      wanted: (id: string) => kept.wanted(id),
    }))(new Kept());
    for (let at = 0; at < 10; at++) record.watch(session(`s${at}`), 'x://1');
    expect(wanted('s4')).toBeUndefined();
    expect(wanted('s5')).toBeDefined();
    for (let at = 0; at < 1_000; at++) record.watch(session('s9'), `x://${at}`);
    expect(wanted('s9')?.uris).toHaveLength(200);
    record.watch(session('s8'), `x://${'y'.repeat(100_000)}`);
    expect(wanted('s8')?.uris).toEqual(['x://1']);
    for (let at = 0; at < 10_001; at++) record.ended(`e${at}`, Date.now());
    expect([record.hasEnded('e0'), record.hasEnded('e1')]).toEqual([false, true]);
  });

  it.each(['', 'x', '[', '{}', '["watch"]', '["watch","d","x"]', '["watch","d",9e15,1]'])(
    'does not read %j',
    (line) => {
      const { record } = new Kept();
      expect(record.read(line)).toBe(false);
      expect(record.size).toBe(0);
    },
  );
});
