// Ends the process groups of servers when the gateway itself was killed and can't: a small shell that
// reads from a pipe which groups there are, and kills them when the gateway's end of the pipe is gone.
// The system closes that end however the gateway dies. `PR_SET_PDEATHSIG` would not do: it does not reach
// what a server starts, and a program that changes its user loses it.
import { type ChildProcess, spawn } from 'node:child_process';
import { after, type Timer } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';

const SHELL = '/bin/sh';
/** What the shell calls itself in lists of processes. */
export const WATCHER_NAME = 'sluice-watcher';
/** How long until a watcher that was ended is replaced. */
const RESTART_MS = 100;

/**
 * POSIX shell. Lines are `+GROUP` and `-GROUP`; a line without its end is none. What ends a whole service
 * at once (systemd) must not end the watcher before the servers, so it ignores the usual signals. Servers
 * see the end of their input together with the watcher; they get half a second for it, and as much for
 * TERM.
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
   * @param failed told when there is no watcher to see to it
   */
  add(group: number, failed: (why: string) => void): void {
    this.#groups.add(group);
    this.#tellFailure = failed;
    if (this.#shell === undefined) this.#start();
    else this.#write(`+${group}\n`);
  }

  /** The group is gone: another one may get its number. */
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
        // Of a group of its own: what ends the gateway's group must not end this one.
        detached: true,
      });
      this.#shell = shell;
      shell.unref();
      // `exit` or `error` of the process says the same.
      shell.stdin?.on('error', () => undefined);
      shell.on('error', (error) => this.#failed(shell, error));
      shell.on('exit', () => this.#ended(shell));
      this.#write([...this.#groups].map((group) => `+${group}\n`).join(''));
    } catch (error) {
      this.#failed(this.#shell, error);
    }
  }

  /** One that reads no more is of no use, and must not make the pipe's buffer grow. */
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
