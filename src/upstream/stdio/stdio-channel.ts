// A child process as a channel for messages: framing on its pipes; output that is not a message is dropped.

import { type FindOwner, HeldAmount } from '../../base/held-bytes.ts';
import { LEAST_COST, type TurnQuota } from '../../base/turns.ts';
import { ContentLengthFraming, contentLengthHeader } from '../../jsonrpc/content-length-framing.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET } from '../../jsonrpc/json-text.ts';
import { LineFraming } from '../../jsonrpc/line-framing.ts';
import type { Logger } from '../../observe/logger.ts';
import { RareLine } from '../../observe/rare-line.ts';
import type { ChannelEvents, ServerChannel } from '../../ports/channel.ts';
import type { OutputConsumer } from './child-output.ts';
import { ChildProcess } from './child-process.ts';
import {
  childEnvironment,
  type Environment,
  type EnvironmentOwner,
  renderedVariables,
} from './environment.ts';
import { FloodWatch } from './flood-watch.ts';
import type { StdioTarget } from './options.ts';
import { Program } from './program.ts';
import { limitingWords } from './resource-limits.ts';
import { userVariables } from './run-as.ts';
import { StderrLog } from './stderr-log.ts';

const LINE_FEED = Buffer.from('\n');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** How much of a line is logged that is not a message. */
const SHOWN = 200;

/** Useless output costs so many times more of a turn, in addition to the cost of each message. */
const WASTE_FACTOR = 3;

/** Limits of a child process. */
export interface StdioLimits {
  /** The largest message that is accepted from it. */
  readonly messageBytes: number;
  /** Between SIGTERM and SIGKILL, in milliseconds. */
  readonly stopMs: number;
  /** How long it may read nothing of what waits for it, in milliseconds. */
  readonly stallMs: number;
}

type Framing = LineFraming | ContentLengthFraming;

/** A child process that speaks JSON-RPC on stdio. */
export class StdioChannel implements ServerChannel {
  readonly program: string;
  readonly #target: StdioTarget;
  readonly #events: ChannelEvents;
  readonly #logger: Logger;
  readonly #stderr: StderrLog;
  readonly #quota: TurnQuota;
  readonly #flood = new FloodWatch();
  readonly #child: ChildProcess;
  /** What waits for it. */
  readonly #unread: HeldAmount;
  /** Bytes of its incomplete message. */
  readonly #arriving: HeldAmount;
  readonly #dropped: RareLine<number>;
  #isFirstLine = true;
  #isOver = false;

  constructor(
    target: StdioTarget,
    limits: StdioLimits,
    parts: {
      events: ChannelEvents;
      logger: Logger;
      environment: Environment;
      /** The client that the variables of its environment are for. */
      startedFor: EnvironmentOwner;
      program: Program;
      quota: TurnQuota;
      /** Counts the bytes that are held for the server. */
      owner: FindOwner;
    },
  ) {
    this.#target = target;
    this.#events = parts.events;
    this.#logger = parts.logger;
    const { quota } = parts;
    this.#quota = quota;
    this.#unread = new HeldAmount(parts.owner, 'to_server', () => this.#child.endUnread());
    const framing = this.#createFraming(limits.messageBytes, quota);
    this.#arriving = new HeldAmount(parts.owner, 'from_server', () => framing.drop());
    this.#stderr = new StderrLog(parts.logger, quota, (bytes) => this.#wasted(bytes));
    this.#dropped = new RareLine((count, bytes) =>
      parts.logger.warn({ count, bytes }, 'server does not read: messages to it were dropped'),
    );
    const env = environmentOf(target, parts.environment, {
      ...target.env,
      ...renderedVariables(target.envTemplates, parts.startedFor, parts.logger),
    });
    const { command, args, wrap, cwd } = target;
    const found = parts.program.locate({ path: env['PATH'], cwd });
    this.program = parts.program.version([...wrap, command, ...args], cwd);
    this.#child = new ChildProcess(
      {
        ...launchOf(target, found),
        env,
        cwd,
        runAs: target.runAs,
        stopMs: limits.stopMs,
        stallMs: limits.stallMs,
      },
      {
        stdout: this.#counted(framing),
        stderr: this.#stderr,
        drained: () => this.#events.drained(),
        waits: (bytes) => this.#unread.set(bytes),
        ended: (reason) => {
          this.#stderr.flush();
          this.#end(reason);
        },
        unwatched: (why) =>
          this.#logger.warn(
            { why },
            'server may keep running if the gateway is killed: the process that would end it can not be started',
          ),
      },
      quota,
    );
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The last useful line on stderr. */
  get lastStderrLine(): string {
    return this.#stderr.lastLine;
  }

  get isWritable(): boolean {
    return this.#child.isWritable;
  }

  send(message: Buffer): boolean {
    const isKept =
      this.#target.framing === 'content-length'
        ? this.#child.write(contentLengthHeader(message), message)
        : this.#child.write(message, LINE_FEED);
    if (!isKept && !this.#child.isWritable) this.#dropped.note(message.length);
    return isKept;
  }

  close(): Promise<void> {
    this.#isOver = true;
    this.#arriving.release();
    return this.#child.stop();
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#arriving.release();
    this.#events.closed(reason);
  }

  /** Counts what the framing keeps, once for each chunk. */
  #counted(framing: Framing): OutputConsumer {
    const count = (isDone: boolean): boolean => {
      if (!this.#isOver) this.#arriving.set(framing.heldBytes);
      return isDone;
    };
    return {
      push: (chunk) => count(framing.push(chunk)),
      goOn: () => count(framing.goOn()),
    };
  }

  #createFraming(maxBytes: number, quota: TurnQuota): Framing {
    const oversize: ChannelEvents['oversize'] = (...dropped) => {
      if (!this.#isOver) this.#events.oversize(...dropped);
    };
    const wasted = (bytes: number): void => this.#wasted(bytes);
    if (this.#target.framing === 'content-length') {
      const message = (bytes: Buffer): void => this.#received(bytes);
      const broken = (reason: string): void => this.#end(`bad_framing: ${reason}`);
      return new ContentLengthFraming(maxBytes, { message, oversize, broken, wasted }, quota);
    }
    const line = (bytes: Buffer): void => this.#onLine(bytes);
    return new LineFraming(maxBytes, { line, oversize, wasted }, quota);
  }

  #received(bytes: Buffer): void {
    if (this.#isOver) return;
    if (this.#events.received(bytes)) this.#flood.noteAnswer();
    else this.#wasted(bytes.length);
  }

  /** It wrote output that nobody waits for, which is processed after output that callers wait for. */
  #wasted(bytes: number): void {
    this.#quota.spend(WASTE_FACTOR * Math.max(bytes, LEAST_COST));
    if (this.#flood.note(bytes)) this.#end('output_flood');
  }

  #onLine(line: Buffer): void {
    if (this.#isOver) return;
    let bytes = line;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (line.subarray(0, 3).equals(BYTE_ORDER_MARK)) bytes = line.subarray(3);
    }
    if (looksLikeMessage(bytes)) {
      this.#received(bytes);
      return;
    }
    this.#wasted(bytes.length);
    const text = bytes.toString('utf8', 0, SHOWN);
    if (text.trim() === '') return;
    this.#logger.debug({ line: text }, 'server wrote something to stdout that is not a message');
    this.#events.noise();
  }
}

/**
 * The program file that is found before the start. Behind a wrapper, only the wrapper knows where its program
 * is.
 */
export function programOf(target: StdioTarget, own: Environment, logger: Logger): Program {
  const { PATH: path } = environmentOf(target, own, target.env);
  return new Program(target.wrap[0] ?? target.command, { path, cwd: target.cwd }, logger);
}

function environmentOf(
  { inheritEnv, runAs }: StdioTarget,
  own: Environment,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  return childEnvironment({ own, inheritEnv, env, ofUser: runAs && userVariables(runAs) });
}

/**
 * The command that is really started: limits, then the wrapper, then the command.
 * @param found the file of the wrapper, or of the command without a wrapper
 */
function launchOf(
  { command, args, wrap, resources }: StdioTarget,
  found: string,
): { command: string; name: string | undefined; args: string[] } {
  const [first = command, ...behind] = [...wrap, command, ...args];
  const [program = found, ...rest] = [...limitingWords(resources), found, ...behind];
  return { command: program, name: program === found ? first : undefined, args: rest };
}

// A quick check, so that banners don't count as malformed messages.
function looksLikeMessage(bytes: Buffer): boolean {
  const first = firstByte(bytes, 0, 1);
  const last = firstByte(bytes, bytes.length - 1, -1);
  return (
    (first === OPEN_BRACE && last === CLOSE_BRACE) ||
    (first === OPEN_BRACKET && last === CLOSE_BRACKET)
  );
}

function firstByte(bytes: Buffer, from: number, step: 1 | -1): number | undefined {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at += step;
  return bytes[at];
}
