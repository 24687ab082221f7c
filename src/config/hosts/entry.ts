// Translates one entry of a host's map of servers to the gateway's form. Keys that limit the tools, or say
// how to reach the server, are obeyed. Keys of the host itself are ignored. What the gateway can't do is an
// error that says what to write instead.
import { type ConfigPath, describe, Findings } from '../issues.ts';
import { isRecord } from '../records.ts';
import { remoteServerSchema, serverSchema } from '../server-entry.ts';
import type { HostForm } from './form.ts';
import {
  isHostsOwn,
  isOwnKey,
  NOT_DONE,
  REFUSED,
  RENAMED,
  TIMEOUTS,
  TOOL_LISTS,
  unknownHostKey,
} from './keys.ts';
import { KINDS, type Kind, kindOf } from './transport.ts';

/** A translated entry. */
export interface ReadEntry {
  /** In the form of entries under `servers`. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** The path in the host's entry for a path in the translated entry. */
  readonly placeOf: (own: ConfigPath) => ConfigPath;
  /** Paths start at the host's entry. */
  readonly found: Findings;
}

/** What is needed to translate an entry. */
export interface EntryContext {
  readonly form: HostForm;
  /** The value of a variable of the gateway's environment; from then on it is secret. */
  readonly variable: (name: string) => string | undefined;
  /** Whether the value at a path in the entry must not be shown. */
  readonly isHidden: (path: ConfigPath) => boolean;
}

const HEADERS_OF_VARIABLES: ReadonlySet<string> = new Set([
  'bearer_token_env_var',
  'env_http_headers',
]);

/** The default of `timeouts.requestMax`. */
const REQUEST_MAX_MS = 600_000;

/** Translates an enabled entry of a host. */
export function readHostEntry(
  raw: Readonly<Record<string, unknown>>,
  context: EntryContext,
): ReadEntry {
  const draft = new Draft(context);
  // Headers from variables are added last, to those that are there.
  const last = (key: string): number => Number(HEADERS_OF_VARIABLES.has(key));
  const members = Object.entries(raw).toSorted(([one], [other]) => last(one) - last(other));
  for (const [key, value] of members) draft.read([key], key, value);
  return draft.finish();
}

class Draft {
  readonly #context: EntryContext;
  readonly #entry: Record<string, unknown> = {};
  readonly #places: { readonly own: ConfigPath; readonly theirs: ConfigPath }[] = [];
  readonly #found = new Findings();
  #kind: { readonly path: ConfigPath; readonly says: Kind; readonly shown: string } | undefined;
  /** How keys are handled that the gateway does not have. */
  readonly #readers: ReadonlyMap<string, (path: ConfigPath, value: unknown) => void> = new Map(
    Object.entries({
      command: (path, value) => this.#setCommand(path, value),
      env: (path, value) =>
        this.#set(path, 'env', this.#context.form.looseEnv ? textsOf(value) : value),
      type: (path, value) => this.#setKind(path, value),
      transport: (path, value) => this.#setKind(path, value),
      transportType: (path, value) => this.#setKind(path, value),
      url: (path, value) => this.#setUrl(path, value, this.#context.form.urlIsSse && 'sse'),
      httpUrl: (path, value) => this.#setUrl(path, value, 'streamable-http'),
      source: (path, value) => this.#checkSource(path, value),
      timeout: (path, value) => this.#setPlainTimeout(path, value),
      tools: (path, value) => this.#setToolMap(path, value),
      env_vars: (path, value) => this.#set(path, 'inheritEnv', variableNames(value)),
      env_http_headers: (path, value) => this.#setHeaders(path, value),
      bearer_token_env_var: (path, value) =>
        this.#setHeader(path, 'Authorization', 'Bearer ', value),
    } satisfies Record<string, (path: ConfigPath, value: unknown) => void>),
  );

  constructor(context: EntryContext) {
    this.#context = context;
  }

  read(path: ConfigPath, key: string, value: unknown): void {
    const list = TOOL_LISTS.get(key);
    const timeout = TIMEOUTS.get(key);
    const notDone = NOT_DONE.get(key);
    const refused = REFUSED.get(key);
    if (isHostsOwn(key)) return;
    if (refused !== undefined) this.#refuse(path, refused);
    else if (list !== undefined) this.#setTools(path, list, value);
    else if (timeout !== undefined) this.#setTimeLimit(path, timeout.key, value, timeout.unit);
    else if (notDone !== undefined && !isOwnAuth(key, value)) this.#warn(path, notDone);
    else {
      const reader = this.#readers.get(key);
      if (reader !== undefined) reader(path, value);
      else this.#setOwn(path, RENAMED.get(key) ?? key, value);
    }
  }

  finish(): ReadEntry {
    this.#checkKind();
    const entry = this.#forItsKind();
    return { entry, placeOf: (own) => this.#placeOf(own), found: this.#found };
  }

  #setOwn(path: ConfigPath, key: string, value: unknown): void {
    if (isOwnKey(key)) this.#set(path, key, value);
    else this.#refuse(path, unknownHostKey(key), 'key');
  }

  #set(path: ConfigPath, key: string, value: unknown): void {
    if (Object.hasOwn(this.#entry, key)) {
      const other = this.#placeOf([key]).at(-1);
      this.#refuse(path, `stands beside ${String(other)}: must be one of the two`, 'key');
      return;
    }
    this.#entry[key] = value;
    this.#places.push({ own: [key], theirs: path });
    if (key === 'env' || key === 'headers') this.#warnOfBare(path, value);
  }

  /** Most hosts don't replace `$NAME`. */
  #warnOfBare(path: ConfigPath, values: unknown): void {
    for (const [name, value] of Object.entries(isRecord(values) ? values : {})) {
      const variable =
        typeof value === 'string' ? /^\$([A-Z_][A-Z0-9_]*)$/.exec(value)?.[1] : undefined;
      if (variable === undefined) continue;
      const message = `is $${variable}, which is passed on as it is: write \${${variable}} for the variable`;
      this.#found.warn([...path, name], message);
    }
  }

  /** A program, a list with its arguments (opencode), or a map (older Zed). */
  #setCommand(path: ConfigPath, value: unknown): void {
    if (Array.isArray(value)) {
      const [command, ...args] = value as unknown[];
      this.#set([...path, 0], 'command', command);
      if (args.length === 0) return;
      this.#set([...path, 1], 'args', args);
      for (const index of args.keys()) {
        this.#places.push({ own: ['args', index], theirs: [...path, index + 1] });
      }
    } else if (isRecord(value)) {
      for (const [key, inner] of Object.entries(value)) {
        if (key === 'path') this.#set([...path, key], 'command', inner);
        else this.read([...path, key], key, inner);
      }
    } else {
      this.#set(path, 'command', value);
    }
  }

  #setKind(path: ConfigPath, value: unknown): void {
    const says = kindOf(value);
    if (says === undefined) {
      this.#refuse(path, `is ${this.#show(path, value)}, must be one of ${KINDS}`);
    } else if (this.#kind !== undefined && this.#kind.says !== says) {
      const other = String(this.#kind.path.at(-1));
      this.#refuse(path, `says otherwise than ${other}: must be one of the two`);
    } else {
      this.#kind = { path, says, shown: this.#show(path, value) };
    }
  }

  #checkKind(): void {
    if (this.#kind === undefined) return;
    const { path, says, shown } = this.#kind;
    const [hasUrl, hasCommand] = ['url', 'command'].map((key) => Object.hasOwn(this.#entry, key));
    if (hasUrl && !hasCommand) {
      if (says === 'process') {
        this.#refuse(path, `is ${shown}, but the server has a url: must be http or sse`);
      } else {
        this.#entry['transport'] = says;
      }
    } else if (hasCommand && !hasUrl && says !== 'process') {
      this.#refuse(path, `is ${shown}, but the server has a command: must be stdio, or have a url`);
    }
  }

  #setUrl(path: ConfigPath, value: unknown, transport: Kind | undefined): void {
    if (transport !== undefined) this.#entry['transport'] ??= transport;
    this.#set(path, 'url', value);
  }

  #checkSource(path: ConfigPath, value: unknown): void {
    if (value === 'custom') return;
    const isExtension = value === 'extension';
    const what = isExtension ? 'an extension, which only the host can start' : 'unknown here';
    const advice = 'must be custom, with a command or a url, or set enabled: false';
    this.#refuse(path, `is ${what}: ${advice}`);
  }

  #setToolMap(path: ConfigPath, value: unknown): void {
    if (Array.isArray(value)) this.#setTools(path, 'allow', value);
    else if (!this.#context.form.toolsAreApprovals) this.#addTools(path, value);
  }

  #setTools(path: ConfigPath, list: 'allow' | 'deny', value: unknown): void {
    // Gemini CLI may name a tool with arguments.
    const names = Array.isArray(value)
      ? value.map((name: unknown) => (typeof name === 'string' ? name.replace(/\(.*$/s, '') : name))
      : value;
    this.#addTools(path, { [list]: names }, list);
  }

  /** A host's lists and the gateway's own map may both be there. */
  #addTools(path: ConfigPath, value: unknown, list?: 'allow' | 'deny'): void {
    const before = this.#entry['tools'];
    if (before === undefined || !isRecord(before) || !isRecord(value)) {
      this.#entry['tools'] = value;
    } else {
      const twice = Object.keys(value).find((key) => Object.hasOwn(before, key));
      if (twice !== undefined) {
        const other = String(this.#placeOf(['tools', twice]).at(-1));
        this.#refuse(path, `stands beside ${other}: must be one of the two`, 'key');
        return;
      }
      this.#entry['tools'] = { ...before, ...value };
    }
    const keys = list === undefined && isRecord(value) ? Object.keys(value) : [];
    if (list !== undefined) this.#places.push({ own: ['tools', list], theirs: path });
    else this.#places.push({ own: ['tools'], theirs: path });
    for (const key of keys) this.#places.push({ own: ['tools', key], theirs: [...path, key] });
  }

  #setPlainTimeout(path: ConfigPath, value: unknown): void {
    const { timeoutUnit } = this.#context.form;
    if (timeoutUnit !== undefined) {
      this.#setTimeLimit(path, 'request', value, timeoutUnit);
      return;
    }
    this.#warn(path, 'has another meaning in each host: ignored, set timeouts.request');
  }

  #setTimeLimit(
    path: ConfigPath,
    key: 'start' | 'request',
    value: unknown,
    unit: 'ms' | 's',
  ): void {
    const ms = typeof value === 'number' ? Math.round(unit === 's' ? value * 1000 : value) : 0;
    if (!(ms >= 1)) {
      const units = unit === 's' ? 'seconds' : 'milliseconds';
      this.#refuse(path, `is ${this.#show(path, value)}, must be a number of ${units}`);
      return;
    }
    const before = isRecord(this.#entry['timeouts']) ? this.#entry['timeouts'] : {};
    const max = key === 'request' && ms > REQUEST_MAX_MS ? { requestMax: `${ms}ms` } : {};
    this.#entry['timeouts'] = { ...max, [key]: `${ms}ms`, ...before };
    this.#places.push({ own: ['timeouts', key], theirs: path });
  }

  #setHeaders(path: ConfigPath, value: unknown): void {
    if (!isRecord(value)) {
      this.#refuse(path, `is ${this.#show(path, value)}, must be a map of headers to variables`);
      return;
    }
    for (const [header, name] of Object.entries(value)) {
      this.#setHeader([...path, header], header, '', name);
    }
  }

  #setHeader(path: ConfigPath, header: string, before: string, variable: unknown): void {
    const value = typeof variable === 'string' ? this.#context.variable(variable) : undefined;
    if (value === undefined) {
      const right = 'must be the name of a variable of the environment that is set';
      this.#refuse(path, `is ${this.#show(path, variable)}, ${right}`);
      return;
    }
    const headers = this.#entry['headers'] ?? {};
    if (!isRecord(headers)) return;
    if (Object.keys(headers).some((name) => name.toLowerCase() === header.toLowerCase())) {
      this.#refuse(path, `gives the header ${header}, which is there already: remove one`, 'key');
      return;
    }
    this.#entry['headers'] = { ...headers, [header]: `${before}${value}` };
    this.#places.push({ own: ['headers', header], theirs: path });
  }

  /** Without keys that apply only to servers of the other kind. */
  #forItsKind(): Record<string, unknown> {
    const isRemote = Object.hasOwn(this.#entry, 'url');
    const { shape } = isRemote ? remoteServerSchema : serverSchema;
    const [kind, kept] = [isRemote ? 'url' : 'command', ['command', 'url']];
    const members = Object.entries(this.#entry).filter(([key, value]) => {
      // If both command and url are there, both stay, so that the error is reported.
      if (kept.includes(key) || Object.hasOwn(shape, key)) return true;
      if (key !== 'transport' && !isEmpty(value)) {
        this.#warn(this.#placeOf([key]), `does nothing for a server with a ${kind}: ignored`);
      }
      return false;
    });
    return Object.fromEntries(members);
  }

  #placeOf(own: ConfigPath): ConfigPath {
    const fits = this.#places.filter(({ own: start }) => start.every((key, at) => own[at] === key));
    const best = fits.toSorted((left, right) => right.own.length - left.own.length)[0];
    return best === undefined ? own : [...best.theirs, ...own.slice(best.own.length)];
  }

  #show(path: ConfigPath, value: unknown): string {
    return describe(value, this.#context.isHidden(path));
  }

  #refuse(path: ConfigPath, message: string, at: 'key' | 'value' = 'value'): void {
    this.#found.fault(path, message, at);
  }

  #warn(path: ConfigPath, message: string): void {
    this.#found.warn(path, message, 'key');
  }
}

/** Hosts may use `auth` for their own authentication. */
function isOwnAuth(key: string, value: unknown): boolean {
  return key === 'auth' && isRecord(value) && 'type' in value;
}

/** Codex' variables, by name or with their source. */
function variableNames(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((one: unknown) =>
    isRecord(one) && one['source'] !== 'remote' ? one['name'] : one,
  );
}

/** In VS Code's `env`, numbers become strings, and null means no variable. */
function textsOf(env: unknown): unknown {
  if (!isRecord(env)) return env;
  const kept = Object.entries(env).filter(([, value]) => value !== null);
  return Object.fromEntries(
    kept.map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  );
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
