// Items of a list in a result are replaced and removed; the rest of the text stays as it is.
import { describe, expect, it } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { type Edit, REMOVED, withEditedList } from '../../../src/jsonrpc/text-steps.ts';

const answer = (list: string) =>
  scan(Buffer.from(`{"result":{"tools":${list},"_meta":{}}, "id":7,"jsonrpc":"2.0"}`));

/** Removes 0 and makes 1 a 9. */
// biome-ignore lint/correctness/useYield: nothing here takes long
const edit: Edit = function* (item) {
  if (String(item) === '0') return REMOVED;
  return String(item) === '1' ? Buffer.from('9') : item;
};

describe('a list in a result', () => {
  it.each([
    ['[ ]', '[ ]'],
    ['[2, 3]', '[2, 3]'],
    ['[ 0 ]', '[  ]'],
    ['[0, 2]', '[2]'],
    ['[2, 0]', '[2]'],
    ['[0,0 ,2,0, 0,3 ,0]', '[2,3]'],
    ['[1,0,1]', '[9,9]'],
    ['[0,1]', '[9]'],
    ['[2,1 ,0,0]', '[2,9]'],
    ['[0,0]', '[]'],
  ])('is %s and becomes %s', async (list, expected) => {
    const edited = await withEditedList(answer(list), 'tools', edit);
    const { bytes, idStart, idEnd, resultMetaStart, resultMetaEnd } = edited;
    expect(JSON.parse(String(bytes)).result.tools).toEqual(JSON.parse(expected));
    expect(String(bytes.subarray(idStart, idEnd))).toBe('7');
    expect(String(bytes.subarray(resultMetaStart, resultMetaEnd))).toBe('{}');
  });

  it('is the same answer when nothing changes', () => {
    const same = answer('[2,3]');
    expect(withEditedList(same, 'tools', edit)).toBe(same);
    expect(withEditedList(same, 'tasks', edit)).toBe(same);
  });

  it('is edited in later turns when it is large', async () => {
    const edited = withEditedList(answer(`[${'0,1,2,'.repeat(100_000)}0]`), 'tools', edit);
    expect(edited).toBeInstanceOf(Promise);
    const { tools } = JSON.parse(String((await edited).bytes)).result;
    expect(tools.length).toBe(200_000);
  });

  it('loses what comes first also where nothing behind it could change', async () => {
    const edited = await withEditedList(answer('[0, 2, 3]'), 'tools', edit, Buffer.from('0'));
    expect(JSON.parse(String(edited.bytes)).result.tools).toEqual([2, 3]);
  });
});
