// The logger: JSON lines on stderr, so that stdout stays free for `check` and `connect`. All other parts get
// a child logger with bindings. Messages are constant sentences; values are fields.
import { type DestinationStream, type LogFn, type Logger as PinoLogger, pino } from 'pino';
import { cutText } from '../base/cut-text.ts';
import type { LogOptions } from './options.ts';

export type Logger = PinoLogger;

/** Never logged on purpose, but an error of a library may contain the request. */
const SECRET_FIELDS = ['authorization', 'cookie', '["x-api-key"]', '["mcp-session-id"]'].flatMap(
  (name) => {
    const member = name.startsWith('[') ? name : `.${name}`;
    return [`*${member}`, `*.headers${member}`, `headers${member}`];
  },
);

/** The children of root loggers, which have levels of their own: to be changed with them. */
const CHILDREN = new WeakMap<Logger, Set<WeakRef<PinoLogger>>>();
const FORGOTTEN = new FinalizationRegistry<() => void>((forget) => forget());

/** From now on a root logger and all of its children write what is of this level or above. */
export function setLogLevel(root: Logger, level: LogOptions['level']): void {
  root.level = level;
  for (const child of CHILDREN.get(root) ?? []) {
    const logger = child.deref();
    if (logger !== undefined) logger.level = level;
  }
}

/**
 * Makes the root logger. By default it writes to stderr synchronously, so that nothing is lost when the
 * process exits.
 */
export function createLogger(
  options: LogOptions,
  destination: DestinationStream = pino.destination({ dest: 2, sync: true }),
): Logger {
  const children = new Set<WeakRef<PinoLogger>>();
  const root = pino(
    {
      level: options.level,
      base: { name: 'sluice' },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: { logMethod: logShort },
      redact: { paths: SECRET_FIELDS, censor: '***' },
      onChild: (child) => {
        const reference = new WeakRef(child as PinoLogger);
        children.add(reference);
        FORGOTTEN.register(child, () => children.delete(reference));
      },
    },
    destination,
  );
  CHILDREN.set(root, children);
  return root;
}

/** How many items one line names. */
const NAMED = 10;

/**
 * The fields of a line about many things: their number, and the first of them. A server may list thousands; a
 * line for each would hide all other lines.
 */
export function someOf<T>(all: readonly T[]): { readonly count: number; readonly first: T[] } {
  return { count: all.length, first: all.slice(0, NAMED) };
}

const INFO = 30;
const TRACE = 10;

/**
 * Shortens what servers and clients have chosen: names, methods, reasons. With level trace nothing is
 * shortened.
 */
function logShort(this: PinoLogger, args: Parameters<LogFn>, method: LogFn, level: number): void {
  const [fields, ...rest] = args as [unknown, ...unknown[]];
  const isCut = level >= INFO && this.levelVal > TRACE && isFields(fields);
  method.apply(this, (isCut ? [shortened(fields), ...rest] : args) as Parameters<LogFn>);
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Error);
}

function shortened(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, short(value)]));
}

function short(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value);
  if (Array.isArray(value)) return value.map(short);
  return isPlain(value) ? shortened(value) : value;
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return isFields(value) && Object.getPrototypeOf(value) === Object.prototype;
}
