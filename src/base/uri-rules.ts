// Which URIs a list of globs allows or denies. URIs are compared in their canonical form. A URI without one
// is allowed only by its exact text, and denied by every list.
import { matchesGlob } from './glob.ts';
import {
  decodedGlob,
  fileOf,
  folded,
  looseName,
  normalForm,
  openedFile,
  readingOf,
  type UriReading,
  withLowerHost,
  withoutParameters,
} from './uri-reading.ts';

/** A glob in the same forms as a URI. */
interface UriGlob {
  readonly normal: string;
  readonly bare: string;
  readonly file: string | undefined;
  /** All forms that a denied URI may match. */
  readonly forms: readonly string[];
}

/** By the list in the configuration. */
const compiled = new WeakMap<readonly string[], readonly UriGlob[]>();

/** Whether some glob allows a URI or a template in each of its readings. */
export function allowsUri(globs: readonly string[], uri: string): boolean {
  // An exact match is always meant.
  if (globs.includes(uri)) return true;
  const reading = readingOf(uri);
  if (reading === undefined) return false;
  const all = compiledOf(globs);
  const { normal, bare, file } = reading;
  return (
    all.some((glob) => matchesGlob(glob.normal, normal)) &&
    all.some((glob) => matchesGlob(glob.bare, bare)) &&
    (file === undefined || all.some((glob) => allowsFile(glob, file)))
  );
}

/** Whether some glob denies a URI in any of its readings. */
export function deniesUri(globs: readonly string[], uri: string): boolean {
  const reading = readingOf(uri);
  if (reading === undefined) return globs.length > 0;
  const readings = [...readingsOf(uri, reading)];
  const file = openedFile(folded(reading.decoded));
  return compiledOf(globs).some((glob) => deniesReading(glob, readings, file));
}

function allowsFile({ normal, file }: UriGlob, path: string): boolean {
  return matchesGlob(normal, path) || (file !== undefined && matchesGlob(file, path));
}

/** The text itself, what URL parsers make of it, and its normal forms. */
function readingsOf(uri: string, { normal, bare, decoded }: UriReading): Set<string> {
  const parsed = normalForm(URL.parse(uri)?.href ?? uri);
  const bareDecoded = withoutParameters(decoded);
  const all = [normal, bare, parsed, decoded, bareDecoded, folded(decoded)];
  return new Set([uri, ...all.map(withLowerHost)]);
}

function deniesReading(glob: UriGlob, readings: readonly string[], file?: string): boolean {
  const { forms } = glob;
  if (forms.some((form) => readings.some((one) => matchesGlob(form, one)))) return true;
  if (file === undefined || glob.file === undefined) return false;
  const name = looseName(file);
  const denied = looseName(glob.file);
  // All systems read a folder with a trailing slash as the folder.
  return matchesGlob(denied, name) || matchesGlob(denied, name.replace(/\/$/, ''));
}

function compiledOf(globs: readonly string[]): readonly UriGlob[] {
  let found = compiled.get(globs);
  if (found === undefined) {
    found = globs.map(compile);
    compiled.set(globs, found);
  }
  return found;
}

function compile(text: string): UriGlob {
  const normal = normalForm(text);
  const bare = withoutParameters(normal);
  const decoded = decodedGlob(text);
  const bareDecoded = withoutParameters(decoded);
  const forms = [normal, bare, decoded, bareDecoded].map(withLowerHost);
  return { normal, bare, file: fileOf(bareDecoded), forms: [...new Set([text, ...forms])] };
}
