// Ends the process groups of servers if the gateway itself was killed and can't. A small shell reads the
// groups from a pipe, and kills them when the gateway's end of the pipe is closed. The system closes it,
// however the gateway dies. `PR_SET_PDEATHSIG` is not enough: it does not affect processes that a server
// starts, and is lost if a program changes its user.
import { type ChildProcess, spawn } from 'node:child_process';
import { after, type Timer } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';

const SHELL = '/bin/sh';
/** The name of the shell in lists of processes. */
export const WATCHER_NAME = 'sluice-watcher';
/** How long until a watcher that ended is replaced. */
const RESTART_MS = 100;

/**
 * A POSIX shell script. Lines are `+GROUP` and `-GROUP`; an incomplete line is ignored. What ends a whole
 * service at once (systemd) must not end the watcher before the servers, so it ignores the usual signals.
 * Servers see the end of their stdin at the same time as the watcher; they get half a second for it, and as
 * much for SIGTERM.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM USR1 USR2
groups=' '
while read -r line; do
  id=\${line#?}
  case $line in
    +*) groups="$groups$id " ;;
    -*) case $groups in *" $id "*) groups="\${groups%% "$id" *} \${groups#* "$id" }" ;; esac ;;
  esac
done
[ "$groups" = ' ' ] && exit 0
signal() { for id in $groups; do kill -s "$1" -- "-$id" 2>/dev/null; done; }
pause() { sleep 0.5 2>/dev/null || sleep 1; }
pause; signal TERM; pause; signal KILL
`;

/** Keeps one watcher for all process groups of this process. */
export class GroupWatcher {
  readonly #groups = new Set<number>();
  #shell: ChildProcess | undefined;
  #restart: Timer | undefined;
  #tellFailure: (why: string) => void = () => undefined;

  /**
   * From now on this group ends with the gateway.
   * @param failed called if there is no watcher
   */
  add(group: number, failed: (why: string) => void): void {
    this.#groups.add(group);
    this.#tellFailure = failed;
    if (this.#shell === undefined) this.#start();
    else this.#write(`+${group}\n`);
  }

  /** The group is gone. Another one may get its number. */
  remove(group: number): void {
    if (this.#groups.delete(group)) this.#write(`-${group}\n`);
  }

  #start(): void {
    this.#restart?.cancel();
    try {
      const shell = spawn(SHELL, ['-c', SCRIPT, WATCHER_NAME], {
        cwd: '/',
        env: { PATH: '/usr/bin:/bin' },
        stdio: ['pipe', 'ignore', 'ignore'],
        // In its own process group: what ends the gateway's group must not end this process.
        detached: true,
      });
      this.#shell = shell;
      shell.unref();
      // `exit` or `error` of the process reports the same.
      shell.stdin?.on('error', () => undefined);
      shell.on('error', (error) => this.#failed(shell, error));
      shell.on('exit', () => this.#ended(shell));
      this.#write([...this.#groups].map((group) => `+${group}\n`).join(''));
    } catch (error) {
      this.#failed(this.#shell, error);
    }
  }

  /** If the watcher no longer reads, it is replaced; otherwise the buffer of the pipe would grow. */
  #write(lines: string): void {
    const stdin = this.#shell?.stdin;
    if (stdin?.writable !== true) return;
    if (!stdin.write(lines)) this.#shell?.kill('SIGKILL');
  }

  #failed(shell: ChildProcess | undefined, error: unknown): void {
    if (shell !== this.#shell) return;
    this.#shell = undefined;
    this.#tellFailure(messageOf(error));
  }

  #ended(shell: ChildProcess): void {
    if (shell !== this.#shell) return;
    this.#shell = undefined;
    this.#restart = after(RESTART_MS, () => {
      if (this.#shell === undefined && this.#groups.size > 0) this.#start();
    });
  }
}
