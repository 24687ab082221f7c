// POST to a server with `protocol: jsonrpc`: no handshake and no session id. The body of the answer is the
// response; a batch is answered with one array.
import { asGatewayError } from '../base/errors.ts';
import type { HeldOwner } from '../base/held-bytes.ts';
import { faultError } from '../jsonrpc/faults.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { scan } from '../jsonrpc/scan.ts';
import { errorMessage } from '../jsonrpc/serialize.ts';
import { wireErrorOf } from '../mcp/errors.ts';
import type { NotificationWriter, ResponseWriter } from '../ports/response-writer.ts';
import { BatchAnswers, invalidElement, splitBatch, workOff } from '../session/batch.ts';
import { openSession, PLAIN_PROFILE } from '../session/handshake.ts';
import type { ServedEndpoint } from '../session/served-endpoint.ts';
import { Session } from '../session/session.ts';
import type { NoRoom } from '../session/session-store.ts';
import type { ListenerContext } from './context.ts';
import {
  drainRefusal,
  REFUSALS,
  type Refusal,
  refuse,
  sendEmpty,
  sendJson,
  sessionRefusal,
} from './error-response.ts';
import { cutIfSlow } from './slow-client.ts';
import { jsonArray } from './streamable-http/http-response-writer.ts';
import type { HttpCall } from './streamable-http/routes.ts';

const RULES = { anyParams: true };

/** A session, or why none can be opened. */
type SessionOrRefusal = Session | NoRoom;

/** A client that only sends POSTs gets nothing but answers. */
const NO_NOTIFICATIONS: NotificationWriter = {
  isOpen: false,
  send: () => undefined,
  prune: () => undefined,
  close: () => undefined,
};

/**
 * Sessions for clients of plain servers, which only send POSTs: one for each endpoint, principal and
 * credentials.
 */
export class PlainPosts {
  readonly #context: ListenerContext;
  readonly #sessions = new Map<string, Promise<SessionOrRefusal>>();

  constructor(context: ListenerContext) {
    this.#context = context;
  }

  /** The endpoint is gone, and its sessions with it. */
  endOf({ name }: ServedEndpoint): void {
    for (const key of this.#sessions.keys()) {
      if (key.startsWith(`${name} `)) this.#sessions.delete(key);
    }
  }

  /** Serves one POST whose body is complete. */
  async post(served: ServedEndpoint, call: HttpCall, body: Buffer): Promise<void> {
    const { response } = call;
    const frame = scan(body, RULES);
    const refusal = this.#refusalOf(served, call, frame);
    if (refusal !== undefined) {
      refuse(response, refusal, frame.idBytes);
      return;
    }
    try {
      const session = await this.#holding(call, body, this.#sessionFor(served, call));
      if (session instanceof Session) this.#serve(session, call, frame);
      else refuse(response, sessionRefusal(session), frame.idBytes);
    } catch (error) {
      const failure = asGatewayError(error, served.endpoint.server);
      served.meter.failed(failure);
      sendJson(response, 200, errorMessage(frame.idBytes, wireErrorOf(failure)));
    }
  }

  #refusalOf(served: ServedEndpoint, { principal }: HttpCall, frame: Frame): Refusal | undefined {
    const { held, metrics } = this.#context;
    if (frame.fault !== undefined && frame.fault !== 'array') {
      return { status: 400, ...faultError(frame) };
    }
    if (served.drain.isOn && frame.kind !== 'notification') return drainRefusal(served);
    if (held.client(principal).hasRoom(frame.bytes.length)) return undefined;
    metrics.rejected.inc({ reason: 'held_bytes' });
    return REFUSALS.tooMuchHeld;
  }

  /** Counts the bytes of a body while it waits for its session. */
  async #holding<T>({ principal }: HttpCall, { length }: Buffer, opening: Promise<T>): Promise<T> {
    const owner = this.#context.held.client(principal);
    owner.add('call', length);
    try {
      return await opening;
    } finally {
      owner.remove('call', length);
    }
  }

  #serve(session: Session, call: HttpCall, frame: Frame): void {
    if (frame.fault === 'array') {
      this.#serveBatch(session, call, frame);
    } else if (frame.kind === 'request') {
      session.request(frame, this.#answerOn(call));
    } else {
      if (frame.kind === 'notification') session.notification(frame);
      sendEmpty(call.response, 202);
    }
  }

  #serveBatch(session: Session, call: HttpCall, batch: Frame): void {
    const { response } = call;
    const messages = splitBatch(batch, RULES);
    if (messages === undefined || messages.length === 0) {
      refuse(response, messages === undefined ? REFUSALS.batchTooLong : REFUSALS.emptyBatch);
      return;
    }
    this.#context.gatekeeper.takeBatch(session.principal, messages.length);
    const answered = messages.filter(({ kind }) => kind === 'request' || kind === 'invalid').length;
    const target = {
      push: () => false,
      endAll: (all: readonly Buffer[]) => this.#send(call, jsonArray(all)),
      abandon: () => sendEmpty(response, 202),
    };
    const owner = (): HeldOwner => this.#context.held.client(call.principal);
    // The answer waits for the last message: the client's next request must not be processed before.
    const answers = new BatchAnswers(target, answered + 1, owner);
    const all = answers.writer();
    const late = (): void => all.abandon();
    const isDone = workOff(messages, {
      quota: call.quota,
      owner,
      failed: (error) => call.route.served.meter.failed(error),
      take: (message) => {
        if (message.kind === 'invalid') answers.writer().end(invalidElement());
        else if (message.kind === 'request')
          session.request(message, answers.writer(message.idBytes));
        else if (message.kind === 'notification') session.notification(message);
      },
      late,
    });
    if (isDone) late();
  }

  #answerOn(call: HttpCall): ResponseWriter {
    return {
      push: () => false,
      end: (message) => this.#send(call, message),
      abandon: () => sendEmpty(call.response, 202),
    };
  }

  #send({ response, principal }: HttpCall, message: Buffer): void {
    if (response.destroyed) return;
    sendJson(response, 200, message);
    const { metrics, held } = this.#context;
    const slow = (): void => metrics.slowConsumers.inc({ transport: 'streamable-http' });
    cutIfSlow(response, { held, principal, slow });
  }

  async #sessionFor(served: ServedEndpoint, call: HttpCall): Promise<SessionOrRefusal> {
    const { endpoint } = served;
    const key = `${endpoint.name} ${call.principal.key} ${endpoint.credentialFingerprint(call.principal)}`;
    const pending = this.#sessions.get(key);
    const known = await pending?.catch(() => undefined);
    if (known instanceof Session && !known.isClosed) {
      known.continueAs(call.principal);
      return known;
    }
    // If several requests found the session closed or failed, one of them opens the next one.
    if (this.#sessions.get(key) !== pending) return await this.#sessionFor(served, call);
    const opening = this.#open(served, call);
    this.#sessions.set(key, opening);
    return await opening;
  }

  async #open(served: ServedEndpoint, call: HttpCall): Promise<SessionOrRefusal> {
    const opened = await openSession(
      PLAIN_PROFILE,
      {
        transport: 'streamable-http',
        served,
        principal: call.principal,
        notificationWriter: NO_NOTIFICATIONS,
        hasStreamPerRequest: true,
      },
      this.#context.sessions,
    );
    return 'refusal' in opened ? opened.refusal : opened.session;
  }
}
