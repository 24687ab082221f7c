// Makes the Config of a file, or reports every error with its line and column.
import { dirname, resolve } from 'node:path';
import { readTextFileOrPipe, UnusableFile } from '../base/bounded-file.ts';
import { lockFileOf } from '../catalog/pins/lock-file.ts';
import type { Config } from './config.ts';
import { ConfigDocument } from './document.ts';
import { flagAt, type ListenerFlags, withFlags } from './flags.ts';
import { type HostFile, hostFile } from './hosts/form.ts';
import { dataFolderIn, processEnvironment } from './interpolate.ts';
import { ConfigError, type ConfigIssue, type ConfigPath, type Fault } from './issues.ts';
import { preflight } from './preflight.ts';
import { readingOf } from './reading.ts';
import { type Resolution, resolveConfig } from './resolve.ts';

/** The largest configuration file, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024;

/** The most issues that one run reports. */
const MAX_ISSUES = 100;

type Environment = Readonly<Record<string, string | undefined>>;

/** A valid configuration. */
export interface LoadedConfig {
  readonly config: Config;
  /** Texts that came from `${...}`, and must not be shown. */
  readonly secrets: ReadonlySet<string>;
  readonly warnings: readonly ConfigIssue[];
  /** Absolute paths of all that was read, or is read with it: the file itself comes first. */
  readonly files: readonly string[];
  /** Servers whose name differs from the title in the host's file. */
  readonly renamed: readonly ConfigIssue[];
  /** Whether everything that the configuration names exists: config/preflight.ts. */
  readonly preflight: () => {
    readonly issues: readonly ConfigIssue[];
    readonly warnings: readonly ConfigIssue[];
  };
}

/**
 * Reads a configuration file.
 * @param file its path; messages show it as it is given
 * @param cwd absolute; the base of a relative `file`
 * @throws ConfigError with all errors
 */
export function load(
  file: string,
  environment: Environment = processEnvironment(),
  cwd: string = process.cwd(),
  flags: ListenerFlags = {},
): LoadedConfig {
  const path = resolve(cwd, file);
  const text = readText(file, path);
  try {
    return loadText(file, text, environment, path, flags);
  } catch (error) {
    if (error instanceof RangeError) {
      throw fileError(file, 'is nested too deeply: must be at most some dozens of levels deep');
    }
    throw error;
  }
}

/**
 * Reads a configuration from text.
 * @param path absolute path of the file with this text
 * @throws ConfigError with all errors; RangeError if it is nested too deeply
 */
export function loadText(
  file: string,
  text: string,
  environment: Environment,
  path: string = resolve(file),
  flags: ListenerFlags = {},
): LoadedConfig {
  const document = new ConfigDocument(file, text);
  if (!document.isReadable) throw new ConfigError(document.issues);
  const raw = toValue(document);
  const host = hostFile(raw, path);
  document.interpolate({ environment, folder: dirname(path) }, readingOf(raw, host, environment));
  const resolution = resolveDocument(document, { path, host, environment, flags });
  const faults = resolution.faults.filter((fault) => !document.isUnresolved(fault.path));
  const locate = (fault: Fault): ConfigIssue => {
    const flag = flagAt(fault.path, flags);
    return flag === undefined ? document.locate(fault) : ofFlag(flag, fault.message);
  };
  const issues = [...document.issues, ...faults.map(locate)];
  if (issues.length > 0 || resolution.config === undefined) {
    throw new ConfigError(inOrder(issues).slice(0, MAX_ISSUES), [...document.files]);
  }
  const { config, warnings, places, renamed } = resolution;
  const located = (found: readonly Fault[]): ConfigIssue[] => inOrder(found.map(locate));
  return {
    config,
    secrets: document.secrets,
    files: [path, lockFileOf(path), ...document.files],
    warnings: inOrder([...document.warnings, ...located(warnings)]),
    renamed: located(renamed),
    preflight: () => {
      const found = preflight(config, {
        environment,
        placeOf: (server, own) => places.get(server)?.(own) ?? ['servers', server, ...own],
        isHidden: (place) => document.isInterpolated(place),
      });
      return { issues: located(found.faults), warnings: located(found.warnings) };
    },
  };
}

function resolveDocument(
  document: ConfigDocument,
  given: {
    readonly path: string;
    readonly host: HostFile | undefined;
    readonly environment: Environment;
    readonly flags: ListenerFlags;
  },
): Resolution {
  const { path, host, environment, flags } = given;
  const context = {
    file: path,
    folder: dirname(path),
    host,
    data: dataFolderIn(environment),
    isHidden: (place: ConfigPath) => document.isInterpolated(place),
    variable: (name: string) => {
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      if (value !== undefined && value !== '') document.secrets.add(value);
      return value;
    },
  };
  const resolved = (): Resolution => resolveConfig(withFlags(toValue(document), flags), context);
  const first = resolved();
  const typed = first.faults.filter((fault) => document.retype(fault));
  return typed.length === 0 ? first : resolved();
}

function toValue(document: ConfigDocument): unknown {
  try {
    return document.toValue();
  } catch (error) {
    if (error instanceof ReferenceError) {
      const why = 'has aliases that multiply it or point at themselves: must be written out';
      throw fileError(document.file, why);
    }
    throw error;
  }
}

function readText(file: string, path: string): string {
  try {
    return readTextFileOrPipe(path, MAX_FILE_BYTES);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw fileError(file, `can't be used, ${error.message}`);
  }
}

function fileError(file: string, message: string): ConfigError {
  return new ConfigError([{ file, line: 1, column: 1, path: '', message: `the file ${message}` }]);
}

/** An error about a flag has no line. */
function ofFlag(flag: string, message: string): ConfigIssue {
  return { file: flag, line: 0, column: 0, path: '', message };
}

function inOrder(issues: readonly ConfigIssue[]): ConfigIssue[] {
  return issues.toSorted((left, right) => left.line - right.line || left.column - right.column);
}
