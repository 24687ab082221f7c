// What outlives the process: the data folder, if there is one, and the keys that texts for clients are sealed
// with.
import { codeOf, messageOf, UserFileError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { DataFolder } from '../data/data-folder.ts';
import { sealingKeys } from '../data/sealing-keys.ts';
import type { Logger } from '../observe/logger.ts';

/** Of a full disk, which costs what can't be kept and nothing else. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

/** What a gateway is given that outlives it. */
export interface KeptData {
  readonly folder: DataFolder | undefined;
  /** That seal the ids of sessions; none: a random key. */
  readonly sessionKeys: readonly string[];
  /** The same for states of modern clients and ids of tasks. */
  readonly stateKeys: readonly string[];
}

/**
 * Opens the data folder, and says what will not survive the process.
 * @throws UserFileError when it can't be used
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
    return {
      folder,
      sessionKeys: sessions.keys.length > 0 ? sessions.keys : own,
      stateKeys: state.keys.length > 0 ? state.keys : own,
    };
  } catch (error) {
    folder?.close();
    throw error;
  }
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
