// What comments, test titles and pages cite can be opened in this repository: ids (GW-001, A01, F01, R1,
// trial 1) are defined in one page of docs/, and cited pages and anchors exist.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const CITING = ['src', 'test', 'scripts', 'docs', 'config', 'deploy', '.github', '.ci'];
const TEXT = /\.(?:ts|mjs|js|md|json|yaml|yml|sh)$/;
/** Copies of other programs' files, and this test, which has examples. */
const LEFT_OUT =
  /(?:^|\/)(?:node_modules|test\/fixtures\/hosts|test\/arch\/citations\.test\.ts)(?:\/|$)/;

interface TextFile {
  readonly path: string;
  readonly text: string;
}

function filesBelow(folder: string): TextFile[] {
  const at = join(ROOT, folder);
  if (!existsSync(at)) return [];
  return readdirSync(at, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = relative(ROOT, join(entry.parentPath, entry.name));
    if (!entry.isFile() || !TEXT.test(path) || LEFT_OUT.test(path)) return [];
    return [{ path, text: readFileSync(join(ROOT, path), 'utf8') }];
  });
}

function pagesAtRoot(): TextFile[] {
  const names = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  return names.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

const files = [...CITING.flatMap(filesBelow), ...pagesAtRoot()];
const pages = new Map(
  files.filter(({ path }) => path.endsWith('.md')).map((one) => [one.path, one]),
);

/** Anchors that a page sets itself. */
function definitionsIn(text: string): string[] {
  return [...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map((match) => match[1] as string);
}

/** The anchor that a heading gets when the page is shown. */
function slug(heading: string): string {
  const text = heading.replace(/`|\*\*|\[([^\]]*)\]\([^)]*\)/g, '$1');
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

function anchorsIn({ text }: TextFile): Set<string> {
  const body = text.replace(/^(```+)[\s\S]*?^\1/gm, '');
  const seen = new Map<string, number>();
  const anchors = new Set(definitionsIn(text));
  for (const [, heading = ''] of body.matchAll(/^#{1,6} (.+)$/gm)) {
    const name = slug(heading);
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    anchors.add(count === 0 ? name : `${name}-${count}`);
  }
  return anchors;
}

/** The ids that a text cites, as their definitions are called. */
function idsIn(text: string): string[] {
  const rules = [...text.matchAll(/\bGW-(\d{3})\b/g)].map((match) => `gw-${match[1]}`);
  const trials = [...text.matchAll(/\btrials? (\d+(?:(?:,| and|, and) \d+)*)/g)].flatMap((match) =>
    [...(match[1] as string).matchAll(/\d+/g)].map(([number]) => `trial-${number}`),
  );
  const codes = text.matchAll(/(?<![\w.#+\\-])(?:[A-HM]\d{2}|R(?:1[0-4]|[1-9]))(?![\w.-])/g);
  return [...rules, ...trials, ...[...codes].map(([code]) => code.toLowerCase())];
}

/** Comments of a source; a page is one as a whole. */
function proseOf({ path, text }: TextFile): string {
  if (!/\.(?:ts|mjs|js)$/.test(path)) return text;
  return (text.match(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm) ?? []).join('\n');
}

/** Every page that is cited in code, with its anchors: `docs/x.md#a, #b`. */
function citationsIn(text: string): { readonly page: string; readonly anchors: string[] }[] {
  return [
    ...text.matchAll(/(?<![\w/.-])(docs\/[\w/-]+\.md)((?:#[\w-]+)?(?:,[\s/*]*#[\w-]+)*)/g),
  ].map(([, page = '', rest = '']) => ({
    page,
    anchors: [...rest.matchAll(/#([\w-]+)/g)].map((match) => match[1] as string),
  }));
}

const definedAt = new Map<string, string[]>();
for (const { path, text } of pages.values()) {
  for (const id of definitionsIn(text)) definedAt.set(id, [...(definedAt.get(id) ?? []), path]);
}
const anchorsOf = new Map([...pages].map(([path, page]) => [path, anchorsIn(page)]));

function isThere(page: string, anchor: string): boolean {
  return anchorsOf.get(page)?.has(anchor) === true;
}

describe('citations', () => {
  test('the walk sees them', () => {
    expect(files.length).toBeGreaterThan(500);
    const cited = new Set(files.flatMap(({ text }) => idsIn(text)));
    expect(cited.size).toBeGreaterThan(200);
    expect(files.flatMap(({ text }) => citationsIn(text)).length).toBeGreaterThan(100);
  });

  test('each id is defined once', () => {
    const twice = [...definedAt].filter(([, paths]) => paths.length > 1);
    expect(twice).toEqual([]);
  });

  test('each id that is cited is defined', () => {
    const missing = files.flatMap(({ path, text }) =>
      idsIn(text)
        .filter((id) => !definedAt.has(id))
        .map((id) => `${path} cites ${id}`),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  test('each page and anchor that code cites is there', () => {
    const missing = files.flatMap(({ path, text }) =>
      citationsIn(text).flatMap(({ page, anchors }) => [
        ...(existsSync(join(ROOT, page)) ? [] : [`${path} cites ${page}`]),
        ...anchors
          .filter((anchor) => !isThere(page, anchor))
          .map((anchor) => `${path} cites ${page}#${anchor}`),
      ]),
    );
    expect(missing).toEqual([]);
  });

  test('each link of a page leads somewhere', () => {
    const missing = [...pages.values()].flatMap(({ path, text }) =>
      [...text.matchAll(/\]\(([^)\s:]*?)(?:#([\w-]+))?\)/g)].flatMap(([link, to = '', anchor]) => {
        const target = to === '' ? path : relative(ROOT, resolve(ROOT, dirname(path), to));
        const isGood =
          existsSync(join(ROOT, target)) && (anchor === undefined || isThere(target, anchor));
        return isGood ? [] : [`${path}: ${link}`];
      }),
    );
    expect(missing).toEqual([]);
  });

  test('each document that a comment names is in the repository', () => {
    const missing = files.flatMap((file) =>
      [...proseOf(file).matchAll(/(?<![\w/.-])[\w./-]*\w\.md\b/g)]
        .map(([name]) => name)
        .filter((name) => !existsSync(join(ROOT, name)))
        .filter((name) => !existsSync(resolve(ROOT, dirname(file.path), name)))
        .map((name) => `${file.path} names ${name}`),
    );
    expect(missing).toEqual([]);
  });
});
