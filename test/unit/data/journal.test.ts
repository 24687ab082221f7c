// The file of lines: what is in it at any time, and what a full disk costs.
import { mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataFolder } from '../../../src/data/data-folder.ts';
import { Journal, readJournal } from '../../../src/data/journal.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const NAME = 'kept.jsonl';
let messages: string[] = [];
const logger = createLogger(
  { level: 'debug', messages: false },
  { write: (text) => void messages.push(String(JSON.parse(text).msg)) },
);
let folder: DataFolder;
beforeEach(async () => {
  messages = [];
  folder = await DataFolder.open(tempDir(), logger);
});
afterEach(() => folder.close());

/** Something to keep: the last value of each name. */
class Values {
  readonly all = new Map<string, number>();
  readonly journal: Journal;

  constructor() {
    this.journal = new Journal(folder.pathOf(NAME), this, logger);
  }

  get size(): number {
    return this.all.size;
  }

  lines(): string[] {
    return [...this.all].map(([name, value]) => `${name} ${value}`);
  }

  set(name: string, value: number): void {
    this.all.set(name, value);
    this.journal.append(`${name} ${value}`);
  }
}

/** What the next process has. */
function kept(): Map<string, string> {
  const found = new Map<string, string>();
  readJournal(folder, NAME, logger, (line) => {
    const [name = '', value] = line.split(' ');
    if (value !== undefined) found.set(name, value);
    return value !== undefined;
  });
  return found;
}

describe('a journal', () => {
  it('has every change, is for its owner alone, and stays small', async () => {
    const values = new Values();
    for (let at = 0; at < 5_000; at++) {
      values.set(`n${at % 10}`, at);
      if (at % 1_000 === 0) await until(() => kept().get(`n${at % 10}`) === String(at));
    }
    await values.journal.close();
    expect([...kept()].sort()).toEqual([...values.all].map(([k, v]) => [k, String(v)]).sort());
    expect(statSync(folder.pathOf(NAME)).mode & 0o777).toBe(0o600);
    expect(readFileSync(folder.pathOf(NAME), 'utf8').split('\n').length).toBeLessThan(1_200);
  });

  it('begins anew after another process, whatever is in the file', async () => {
    writeFileSync(folder.pathOf(NAME), `old 1\nhalf`);
    expect(kept()).toEqual(new Map([['old', '1']]));
    expect(messages).toEqual([]);
    const values = new Values();
    values.set('new', 1);
    await values.journal.close();
    expect(readFileSync(folder.pathOf(NAME), 'utf8')).toBe('new 1\n');
  });

  it('of nonsense is said to be that, and is read as far as it can be', () => {
    writeFileSync(folder.pathOf(NAME), Buffer.from('a 1\n\xff\xfe\nnonsense\nb 2\n', 'latin1'));
    expect([...kept().keys()]).toEqual(['a', 'b']);
    expect(messages).toEqual(['data: lines that can not be read']);
  });

  it('that is no file is as if there were none', () => {
    mkdirSync(folder.pathOf(NAME));
    expect(kept().size).toBe(0);
    expect(messages).toEqual(['data: a file can not be used and is written again']);
  });

  it('that can not be written is told once, keeps nothing waiting, and catches up', async () => {
    const values = new Values();
    mkdirSync(folder.pathOf(NAME));
    values.set('a', 1);
    await until(() => messages.length === 1);
    for (let at = 0; at < 20_000; at++) values.set('b', at);
    rmdirSync(folder.pathOf(NAME));
    // The last chance; while it runs there are more, each few seconds.
    await values.journal.close();
    expect(kept()).toEqual(
      new Map([
        ['a', '1'],
        ['b', '19999'],
      ]),
    );
    expect(messages).toEqual([
      'data can not be written: changes are lost when the process ends',
      'data can be written again',
    ]);
  });
});
