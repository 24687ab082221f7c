// A server without a process: it does what the test tells it, one step at a time, with everything it
// reads and writes waiting in order as in two pipes. Checks what it is told by the gateway.
import type { ChannelEvents, ServerChannel } from '../../../src/ports/channel.ts';
import { fail, read, type Wire, write } from './wire.ts';

/** A call that the server works on. */
export interface Job {
  readonly id: number;
  readonly secret: string;
  readonly token: string | number | undefined;
  /** Servers ask only while they do what may need an answer (docs/protocol.md#attribution). */
  readonly mayAsk: boolean;
  progress: number;
  isCancelled: boolean;
  /** When it was answered; undefined before that. */
  overAtMs?: number;
}

/** How long after an answer a server may still say something of the call. */
const LATE_MS = 9_000;

interface ServerRequest {
  readonly id: number;
  readonly job: Job;
  readonly method: string;
  isAnswered: boolean;
  isTakenBack: boolean;
}

const CAPABILITIES = { tools: {}, prompts: {}, logging: {}, resources: {} };

/** One life of a server. */
export class ScriptedChannel implements ServerChannel {
  readonly pid = 1;
  readonly lastStderrLine = '';
  isAlive = true;
  isWritable = true;
  readonly #events: ChannelEvents;
  readonly #inbox: Buffer[] = [];
  readonly #outbox: Buffer[] = [];
  readonly jobs = new Map<number, Job>();
  readonly #finished: Job[] = [];
  readonly #serverRequests: ServerRequest[] = [];
  #highestId = 0;

  constructor(events: ChannelEvents) {
    this.#events = events;
  }

  /** What waits in the pipes. */
  get waiting(): number {
    return this.#inbox.length + this.#outbox.length;
  }

  send(bytes: Buffer): boolean {
    if (!this.isAlive) fail('written to a dead server');
    const message = read(bytes);
    if (bytes.includes(0x0a)) fail('two lines for one message');
    if (message.method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES };
      const answer = write({ id: message.id, result: { ...result, serverInfo: SERVER_INFO } });
      queueMicrotask(() => this.isAlive && this.#events.received(answer));
      this.#highestId = Number(message.id);
    } else if (message.method !== 'notifications/initialized') {
      this.#inbox.push(Buffer.from(bytes));
    }
    return true;
  }

  close(): Promise<void> {
    this.isAlive = false;
    return Promise.resolve();
  }

  /** Ends, with or without what it wrote last. */
  die(isFlushed: boolean): void {
    if (isFlushed) while (this.deliver());
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#events.closed('exit_1');
  }

  stall(): void {
    this.isWritable = false;
  }

  resume(): void {
    this.isWritable = true;
    this.#events.drained();
  }

  /** Lets the gateway read one message. */
  deliver(): boolean {
    const message = this.#outbox.shift();
    if (message === undefined || !this.isAlive) return false;
    this.#events.received(message);
    return true;
  }

  /** Reads one message. */
  take(): boolean {
    const bytes = this.#inbox.shift();
    if (bytes === undefined) return false;
    const message = read(bytes);
    if (message.method === undefined) this.#onReply(message);
    else if (message.method === 'notifications/cancelled') this.#onCancel(message);
    else if (message.id !== undefined) this.#onRequest(message, bytes);
    return true;
  }

  progress(job: Job): void {
    if (job.token === undefined) return;
    const params = { progressToken: job.token, progress: ++job.progress, message: job.secret };
    this.#say({ method: 'notifications/progress', params });
  }

  log(job: Job): void {
    const params = { level: 'error', data: { text: job.secret } };
    this.#say({ method: 'notifications/message', params });
  }

  ask(job: Job, method: string): void {
    if (job.isCancelled || !job.mayAsk) return;
    const id = this.#serverRequests.length;
    this.#serverRequests.push({ id, job, method, isAnswered: false, isTakenBack: false });
    this.#say({ id, method, params: { message: job.secret, requestedSchema: {} } });
  }

  /** Takes back a server request that is not answered. */
  takeBack(nth: number): void {
    const open = this.#serverRequests.filter((one) => !one.isAnswered && !one.isTakenBack);
    const serverRequest = open[nth % open.length];
    if (serverRequest !== undefined) this.#takeBack(serverRequest);
  }

  #takeBack(serverRequest: ServerRequest): void {
    if (serverRequest.isAnswered || serverRequest.isTakenBack) return;
    serverRequest.isTakenBack = true;
    this.#say({ method: 'notifications/cancelled', params: { requestId: serverRequest.id } });
  }

  /** A server that answers needs no more answers itself: it says so first, as the SDKs do. */
  answer(job: Job, isOk: boolean): void {
    for (const serverRequest of this.#serverRequests) {
      if (serverRequest.job === job) this.#takeBack(serverRequest);
    }
    this.jobs.delete(job.id);
    job.overAtMs = performance.now();
    this.#finished.push(job);
    this.#respond(job, isOk);
  }

  /** Says again, or too late, what belongs to a call that is over; or to none at all. */
  babble(nth: number): void {
    const job = this.#finished[nth % this.#finished.length];
    if (job === undefined) {
      this.#say({ id: 1_000_000 + nth, result: { text: '<Z.1>' } });
    } else if (nth % 3 === 0) this.#respond(job, true);
    else if (nth % 3 === 1) this.progress(job);
    // What comes later than this can't be told from what belongs to nobody.
    else if (performance.now() - (job.overAtMs ?? 0) < LATE_MS) this.log(job);
  }

  ping(): void {
    this.#say({ id: 'ping', method: 'ping' });
  }

  /** Server requests that the gateway owes an answer to: their call goes on, and they stand. */
  get owed(): readonly ServerRequest[] {
    return this.#serverRequests.filter(
      ({ job, isAnswered, isTakenBack }) =>
        !isAnswered && !isTakenBack && !job.isCancelled && this.jobs.has(job.id),
    );
  }

  #respond(job: Job, isOk: boolean): void {
    if (isOk) this.#say({ id: job.id, result: { content: [{ type: 'text', text: job.secret }] } });
    else this.#say({ id: job.id, error: { code: -32001, message: job.secret } });
  }

  #say(message: object): void {
    this.#outbox.push(write(message));
  }

  #onRequest(message: Wire, bytes: Buffer): void {
    const id = Number(message.id);
    if (!Number.isInteger(id) || id <= this.#highestId) fail('an id was used twice', message);
    this.#highestId = id;
    if (message.method === 'ping') {
      this.#say({ id, result: {} });
      return;
    }
    const secret = /<[A-Z]\d*\.\d+>/.exec(bytes.toString())?.[0];
    if (secret === undefined) {
      // The gateway asks again for the lists that its clients know, after a restart.
      if (message.method?.endsWith('/list') !== true) fail('a request without secret', message);
      this.#say({ id, result: {} });
      return;
    }
    const meta = message.params?.['_meta'] as { progressToken?: number } | undefined;
    const token = meta?.progressToken;
    const mayAsk = message.method !== 'resources/list';
    this.jobs.set(id, { id, secret, token, mayAsk, progress: 0, isCancelled: false });
  }

  /** Called with the secret of a call that is cancelled here, to see whether its caller did that. */
  cancelled: (secret: string) => void = () => undefined;

  #onCancel({ params }: Wire): void {
    const id = Number(params?.['requestId']);
    const job = this.jobs.get(id) ?? this.#finished.find((one) => one.id === id);
    if (job === undefined) fail('a cancel of a call that never was', params);
    this.cancelled(job.secret);
    job.isCancelled = true;
    // Half of all servers honour it without another word; the others answer all the same.
    if (id % 2 === 0) this.jobs.delete(id);
  }

  #onReply(message: Wire): void {
    if (message.id === 'ping') return;
    const serverRequest = this.#serverRequests[Number(message.id)];
    if (serverRequest === undefined) fail('an answer to no question', message);
    if (serverRequest.isAnswered) fail('a question was answered twice', message);
    serverRequest.isAnswered = true;
    const who = message.result?.['who'];
    if (who !== undefined && who !== serverRequest.job.secret) {
      fail('a question was answered by somebody else', { who, asked: serverRequest.job.secret });
    }
  }
}

const SERVER_INFO = { name: 'scripted', version: '1' };
