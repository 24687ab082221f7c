// What a rule allows stays where the rule says, whatever a server does with the URI before it opens what
// it names; and what a rule denies is denied in every spelling that leads there.
import { posix } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalForm, readingOf } from '../../src/base/uri-reading.ts';
import { allowsUri, deniesUri } from '../../src/base/uri-rules.ts';
import { runs } from '../support/runs.ts';

const RUNS = { numRuns: runs(5_000) };

const piece = fc.oneof(
  fc.constantFrom(
    ...[
      '/',
      '//',
      '\\',
      '.',
      '..',
      '...',
      ';',
      ';x',
      '..;',
      '?',
      '#',
      ':',
      '=',
      '&',
      ' ',
      '%',
      '*',
    ],
    ...['%2e', '%2E%2e', '%2f', '%5c', '%252e', '%252f', '%25', '%3b', '%3f', '%23', '%00', '%0a'],
    ...['%c0%ae', '%c0%af', '%e0%80%af', '%u002e', '%u002f', '%%32e', '%ef%bc%8f', '%e2%80%8b'],
    ...[
      '\uff0e',
      '\uff0f',
      '\uff3c',
      '\uff05',
      '\uff1b',
      '\u2024',
      '\u2025',
      '\u2026',
      '\u2215',
      '\u2216',
    ],
    ...[
      '\u2044',
      '\ufe52',
      '\ufe68',
      '\u200b',
      '\u200c',
      '\ufe0f',
      '\u3002',
      '\uff61',
      '\t',
      '\n',
      '\u0301',
    ],
  ),
  fc.constantFrom('etc', 'a', 'B', 'é', 'e\u0301', '%C3%A9', 'secret', 'passwd', '%73ecret', 'c:'),
  fc.string({ unit: 'binary', maxLength: 2 }),
);
const tail = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));

/** What servers do to a URI, one thing after the other, each perhaps several times. */
const STEPS: Readonly<Record<string, (text: string) => string>> = {
  decode: (text) =>
    text.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
      Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
    ),
  overlong: (text) => text.replace(/%c0%ae/gi, '.').replace(/%c0%af|%e0%80%af/gi, '/'),
  unescape: (text) => unescape(text),
  compose: (text) => text.normalize('NFC'),
  fold: (text) => text.normalize('NFKC'),
  parameters: (text) => text.replace(/;[^/\\]*/g, ''),
  backslashes: (text) => text.replaceAll('\\', '/'),
  query: (text) => text.replace(/[?].*$/s, ''),
  fragment: (text) => text.replace(/#.*$/s, ''),
  ignored: (text) => text.replace(/\p{Default_Ignorable_Code_Point}/gu, ''),
  controls: (text) => text.replace(/\p{Cc}/gu, ''),
  cut: (text) => text.split('\0', 1)[0] ?? '',
  spaces: (text) => text.replace(/ +(?=\/|$)/g, ''),
  trim: (text) => text.trim(),
  ansi: (text) => text.replace(/[\u2044\u2215\uff0f]/g, '/').replace(/[\u2216\uff3c]/g, '\\'),
};
const server = fc.array(fc.constantFrom(...Object.keys(STEPS)), { maxLength: 8 });

function opened(uri: string, steps: readonly string[]): string {
  const path = uri.replace(/^file:\/\//i, '');
  const done = steps.reduce((text, step) => STEPS[step]?.(text) ?? text, path);
  return posix.resolve('/', done);
}

function isInside(path: string): boolean {
  return path === '/data' || path.startsWith('/data/');
}

test('no server opens for what is allowed what is not', () => {
  let allowed = 0;
  fc.assert(
    fc.property(tail, server, fc.constantFrom('file:///data/', '/data/'), (end, steps, root) => {
      const uri = root + end;
      if (!allowsUri([`${root}*`], uri)) return;
      allowed++;
      expect(isInside(opened(uri, steps)), `${uri} ${steps}`).toBe(true);
    }),
    RUNS,
  );
  expect(allowed).toBeGreaterThan(runs(200));
});

test('no URL parser leaves what is allowed', () => {
  fc.assert(
    fc.property(tail, fc.constantFrom('file:///data/', 'https://a.example/data/'), (end, root) => {
      const uri = root + end;
      if (!allowsUri([`${root}*`], uri)) return;
      const url = URL.parse(uri);
      expect(url === null || isInside(url.pathname), uri).toBe(true);
      expect(url?.host ?? '', uri).toBe(root.startsWith('file') ? '' : 'a.example');
    }),
    RUNS,
  );
});

test('what leads a server to a file that is denied is denied', () => {
  const start = fc.constantFrom('file:///', '/', 'file://host/', 'FILE:///', 'file:/', 'file:');
  fc.assert(
    fc.property(start, tail, server, (root, end, steps) => {
      const uri = root + end;
      const path = opened(uri.replace(/^file:(?:\/\/[^/]*)?/i, ''), steps);
      if (path !== '/secret' && !path.startsWith('/secret/')) return;
      expect(deniesUri(['file:///secret', 'file:///secret/*'], uri), `${uri} ${steps}`).toBe(true);
    }),
    { ...RUNS, examples: EXAMPLES },
  );
});

const EXAMPLES: [string, string, string[]][] = [
  ['file:///', 'a/..;/secret/a', ['parameters']],
  ['file:///', 'secret;x/a', ['parameters']],
  ['file://host/', '%73ecret/a', ['decode']],
  ['/', '\uff53ecret/a', ['fold']],
  ['file:', 'secret?x', ['query']],
];

test('the reading of a reading is itself', () => {
  fc.assert(
    fc.property(fc.constantFrom('file:///', 'X:/', 'https://A.b/', ''), tail, (root, end) => {
      const uri = root + end;
      expect(normalForm(normalForm(uri))).toBe(normalForm(uri));
      const reading = readingOf(uri);
      if (reading === undefined) return;
      const again = readingOf(reading.normal);
      expect(again?.normal).toBe(reading.normal);
      expect(again?.file).toBe(reading.file);
      expect(again?.bare).toBe(reading.bare);
    }),
    RUNS,
  );
});

test('what is allowed in one spelling is allowed in its reading, and denied in both', () => {
  fc.assert(
    fc.property(tail, (end) => {
      const uri = `file:///data/${end}`;
      const reading = readingOf(uri);
      if (reading === undefined) return;
      for (const globs of [['file:///data/*'], ['*a'], ['file:///data/?*']]) {
        expect(allowsUri(globs, reading.normal)).toBe(allowsUri(globs, uri));
        if (allowsUri(globs, uri)) expect(deniesUri(globs, uri)).toBe(true);
      }
    }),
    RUNS,
  );
});
