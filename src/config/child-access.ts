// Which of the gateway's own files the processes that it starts could read: those with a user of
// their own should not (docs/reliability.md#e05, #e10). Processes of the gateway's user can read all
// that it can.
import type { AuthOptions } from '../auth/options.ts';
import type { ServerOptions } from '../backend/options.ts';
import { mayRead } from '../backend/stdio/run-as.ts';
import type { LiveText } from '../base/live-text.ts';
import type { ListenOptions } from '../listener/options.ts';
import type { Fault } from './issues.ts';

/** Where the gateway keeps what is nobody else's business; paths are absolute. */
export interface PrivateFiles {
  /** The configuration itself. */
  readonly file: string | undefined;
  readonly listen: ListenOptions;
  readonly auth: AuthOptions | undefined;
  readonly servers: readonly ServerOptions[];
}

/** A warning for each server whose user could read them. */
export function readableFiles(config: PrivateFiles): Fault[] {
  const { file, listen, auth, servers } = config;
  const own = [file, auth?.keyFile, listen.tls?.key];
  return servers.flatMap((server): Fault[] => {
    const { target } = server;
    if (target.kind !== 'stdio' || target.runAs === undefined) return [];
    const { runAs } = target;
    const others = servers.filter((other) => other !== server).flatMap(secretFiles);
    const readable = [...own, ...others].filter(
      (path) => path !== undefined && mayRead(runAs, path),
    );
    if (readable.length === 0) return [];
    const files = [...new Set(readable)].join(', ');
    const message = `can read ${files}: take the right from that user with chmod or chown`;
    return [{ path: ['servers', server.name, 'runAs'], at: 'key', message }];
  });
}

function secretFiles({ target }: ServerOptions): string[] {
  if (target.kind === 'stdio') return filesOf(Object.values(target.liveEnv).flat());
  const { liveHeaders, auth, tls } = target;
  const texts = [...Object.values(liveHeaders), auth?.clientSecret ?? []];
  return [...filesOf(texts.flat()), ...(tls.key === undefined ? [] : [tls.key])];
}

function filesOf(text: LiveText): string[] {
  return text.flatMap((part) =>
    typeof part !== 'string' && part.kind === 'file' ? [part.path] : [],
  );
}
