// What outlives the process: the data folder, if there is one, and the keys that seal texts for clients.
import { codeOf, messageOf, UserFileError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { DataFolder } from '../data/data-folder.ts';
import { Journal, readJournal } from '../data/journal.ts';
import { sealingKeys } from '../data/sealing-keys.ts';
import type { Logger } from '../observe/logger.ts';
import { SessionRecord } from '../session/session-record.ts';

const SESSIONS = 'sessions.jsonl';
/** The disk is full, so nothing is stored. Everything else works. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

/** What a gateway has that outlives it. */
export interface KeptData {
  readonly folder: DataFolder | undefined;
  /** Keys that seal the ids of sessions; none: a random key. */
  readonly sessionKeys: readonly string[];
  /** The same for states of modern clients and ids of tasks. */
  readonly stateKeys: readonly string[];
  /** Ended sessions, log levels and subscriptions. */
  readonly sessions: SessionRecord;
  /** Writes waiting changes and unlocks the folder for another process. */
  close(): Promise<void>;
}

/**
 * Opens the data folder, and logs what will not outlive the process.
 * @throws UserFileError if it can't be used
 */
export async function openData(
  { data, sessions, state }: Pick<Config, 'data' | 'sessions' | 'state'>,
  logger: Logger,
): Promise<KeptData> {
  const folder = data === undefined ? undefined : await openFolder(data, logger);
  try {
    const lost = (error: unknown): void => {
      logger.error({ why: messageOf(error) }, 'data: the keys can not be kept, sessions will end');
    };
    const isNeeded = sessions.keys.length === 0 || state.keys.length === 0;
    const own = folder === undefined || !isNeeded ? [] : sealingKeys(folder, lost);
    if (folder === undefined) {
      const states = state.keys.length === 0 ? ['states and tasks of clients'] : [];
      const what =
        sessions.keys.length === 0 ? 'sessions' : 'which sessions ended, what they watch';
      logger.info({ lost: [what, ...states] }, 'no data folder: not kept over a restart');
    }
    const record = new SessionRecord(sessions);
    const journal = folder === undefined ? undefined : keep(record, folder, logger);
    return {
      folder,
      sessions: record,
      close: async () => {
        await journal?.close();
        folder?.close();
      },
      sessionKeys: sessions.keys.length > 0 ? sessions.keys : own,
      stateKeys: state.keys.length > 0 ? state.keys : own,
    };
  } catch (error) {
    folder?.close();
    throw error;
  }
}

/** Reads the record of an earlier process, and writes changes from now on. */
function keep(record: SessionRecord, folder: DataFolder, logger: Logger): Journal {
  readJournal(folder, SESSIONS, logger, (line) => record.read(line));
  const journal = new Journal(folder.pathOf(SESSIONS), record, logger);
  record.keepWith((line) => journal.append(line));
  return journal;
}

async function openFolder(path: string, logger: Logger): Promise<DataFolder | undefined> {
  try {
    return await DataFolder.open(path, logger);
  } catch (error) {
    if (!(error instanceof UserFileError) || !FULL.has(codeOf(error.cause))) throw error;
    logger.error({ why: error.message }, 'data: the disk is full, nothing is kept');
    return undefined;
  }
}
