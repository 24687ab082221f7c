/**
 * An MCP client on the stdio of a process that it starts, one message a line. Lines that are no JSON are
 * kept apart in `noise`.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { ChannelClient } from './channel-client.ts';
import { within } from './until.ts';
import { parseMessage } from './wire-message.ts';

export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class StdioClient extends ChannelClient {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves with the exit code, or the name of the signal that ended the process. */
  readonly exit: Promise<number | string>;
  /** Lines on stdout that were no JSON. */
  readonly noise: string[] = [];
  stderr = '';
  #rest = '';

  constructor(options: StdioOptions) {
    super('stdio');
    this.child = spawn(options.command, [...options.args], {
      env: { ...process.env, ...options.env },
    });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    // A process that closed its stdin makes writes fail; the test looks at what follows from that.
    this.child.stdin.on('error', () => undefined);
    this.exit = new Promise((resolve) => {
      // Not `close`: a grandchild may hold the pipes open for longer.
      this.child.on('exit', (code, signal) => resolve(code ?? signal ?? 'none'));
    });
    this.child.on('close', () => this.messages.end());
  }

  sendText(text: string): void {
    this.child.stdin.write(`${text}\n`);
  }

  /** Closes stdin and waits for the exit. */
  async close(): Promise<void> {
    this.child.stdin.end();
    await within(this.exit, 30_000, 'exit after EOF');
  }

  /** KILLs the process and waits for the exit. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await within(this.exit, 10_000, 'exit after KILL');
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      try {
        this.messages.push(parseMessage(line.replace(/\r$/, '')));
      } catch {
        this.noise.push(line);
      }
    }
  }
}
