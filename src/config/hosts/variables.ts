// Translates variables of host files to those of the gateway: `${env:NAME}` becomes `${NAME}`. For those that
// only the host knows, it reports what to write instead.
import { basename } from 'node:path';
import type { HostFile } from './form.ts';

/** A translated text. */
export interface RewrittenText {
  readonly text: string;
  /** What is wrong with the value, in sentences. */
  readonly problems: readonly string[];
}

/** `$${`, `${...}`, `{env:...}` and `{file:...}`, `$NAME`. */
const REFERENCE = /\$\$\{|\$\{([^{}]*)\}|\{(env|file):([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)/g;

/** Translates the variables in a value of a host's file, for `interpolate`. */
export function rewriteVariables(
  text: string,
  file: HostFile,
  home: string | undefined,
): RewrittenText {
  const problems: string[] = [];
  const rewritten = text.replace(REFERENCE, (whole, body?: string, ...words: string[]) => {
    if (body === undefined) return rewriteWord(whole, words, file.form.variable, home);
    const found = rewriteBody(body, file, home);
    if (found.problem !== undefined) problems.push(found.problem);
    return found.text ?? whole;
  });
  return { text: rewritten, problems };
}

/** `{env:NAME}`, `{file:PATH}` and `$NAME` are used by one host each. */
function rewriteWord(
  whole: string,
  [kind, word = '', bare]: readonly (string | undefined)[],
  variable: HostFile['form']['variable'],
  home: string | undefined,
): string {
  if (bare !== undefined) return variable === '$NAME' ? `\${${bare}}` : whole;
  if (kind === undefined || variable !== '{env:NAME}') return whole;
  if (kind === 'env') return `\${${word}}`;
  return `\${file:${word.replace(/^~(?=\/)/, () => home ?? '~')}}`;
}

function rewriteBody(
  body: string,
  { form, workspace, inputs }: HostFile,
  home: string | undefined,
): { readonly text?: string; readonly problem?: string } {
  const colon = body.indexOf(':');
  const kind = colon === -1 ? body : body.slice(0, colon);
  const rest = body.slice(colon + 1);
  switch (kind) {
    case 'env':
      return { text: `\${${rest}}` };
    case 'input':
      return { problem: askedFor(rest, inputs.get(rest), form.host) };
    case 'userHome':
      return home === undefined
        ? {
            problem: 'has ${userHome}, but the variable HOME is not set: set it, or write the path',
          }
        : { text: literal(home) };
    case 'workspaceFolder':
    case 'workspaceRoot':
      return { text: literal(workspace) };
    case 'workspaceFolderBasename':
      return { text: literal(basename(workspace)) };
    case 'pathSeparator':
    case '/':
      return { text: '/' };
    case 'command':
    case 'config':
      return {
        problem: `has \${${body}}, which only ${form.host} knows: write its value, or \${NAME}`,
      };
    default:
      return {};
  }
}

function askedFor(
  id: string,
  input: Readonly<Record<string, unknown>> | undefined,
  host: string,
): string {
  const name = id
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
    .toUpperCase();
  const variable = /^[A-Z]/.test(name) ? name : `INPUT_${name}`;
  const fallback = typeof input?.['default'] === 'string' ? `:-${input['default']}` : '';
  const about = typeof input?.['description'] === 'string' ? ` (${input['description']})` : '';
  return `has \${input:${id}}, which ${host} asks its user for${about}, and the gateway asks nobody: write \${${variable}${fallback}} and set that variable, or \${file:/path}`;
}

/** Escapes a text, so that nothing in it is replaced. */
function literal(text: string): string {
  return text.replaceAll('${', '$${');
}
