// One call of a legacy client at a modern server: adds the envelope, and sends the server requests in
// `input_required` results to the client as requests (docs/protocol.md#rounds-of-server-requests).
import { after, type Timer } from '../base/clock.ts';
import { Frame } from '../jsonrpc/frame.ts';
import { editObject, lastMember, membersOf, withEdited } from '../jsonrpc/members.ts';
import { parseString, textParam } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { jsonBytes, jsonText } from '../jsonrpc/serialize.ts';
import { modernCapabilities, refusalFor } from '../mcp/capabilities.ts';
import { levelOf } from '../mcp/log-levels.ts';
import { META } from '../mcp/meta.ts';
import { ELICITATION } from '../mcp/methods.ts';
import { withoutRelatedTask } from '../mcp/related-task.ts';
import { MODERN_VERSION } from '../mcp/versions.ts';
import {
  type Downstream,
  type Reply,
  replyForNobody,
  resultOf,
  type ServerRequest,
} from '../ports/downstream.ts';
import { ForwardedRequest } from '../ports/forwarded-request.ts';
import type { Lease } from '../ports/lease.ts';
import type { Outcome, Request } from '../ports/request.ts';
import { failedCall, legacyError } from './errors.ts';
import { keyLetter, tooManyServerRequests } from './input-requests.ts';
import { WrappedResults } from './output-schemas.ts';
import { withParams } from './request-text.ts';
import { legacyResult } from './result-text.ts';
import { unguessableId } from './suspended-calls.ts';

const MAX_ROUNDS = 10;
/** How long a client may take for one round. Meanwhile no call is open at the server, so no deadline runs. */
const ROUND_LIMIT_MS = 600_000;

/** A legacy client's call at a modern server. */
export class LegacyToModern extends ForwardedRequest {
  /** The part of the client's request that the server may see. */
  readonly #request: Frame;
  readonly #lease: Lease;
  readonly #asked = new Map<string, RoundTrip>();
  #answers = new Map<string, Buffer>();
  #state: string | undefined;
  #rounds = 0;
  #limit: Timer | undefined;
  readonly #wrapped: WrappedResults;

  /** @param wrapped the tools whose results the session knows to be wrapped */
  constructor(original: Request, lease: Lease, wrapped = new WrappedResults()) {
    super(original);
    this.#wrapped = wrapped;
    this.#lease = lease;
    this.#request = withoutRelatedTask(original.frame);
    this.frame = this.#frameWith(new Map());
  }

  override settle(outcome: Outcome): void {
    const isError = outcome instanceof Frame && outcome.resultStart < 0;
    super.settle((isError && legacyError(this.original.frame, outcome)) || outcome);
  }

  protected override answered(answer: Frame): void {
    const { bytes, resultTypeStart, resultTypeEnd } = answer;
    const type = parseString(bytes, resultTypeStart, resultTypeEnd) ?? 'complete';
    if (type === 'complete') {
      this.pass(this.#wrapped.convert(this.original.frame, legacyResult(answer)));
    } else if (type === 'input_required') {
      this.#ask(answer);
    } else {
      this.#giveUp(`The server answered with a result of type ${jsonText(type)}.`);
    }
  }

  /** Sends the server requests of this round to the client. */
  #ask(answer: Frame): void {
    if (++this.#rounds > MAX_ROUNDS) {
      this.#giveUp(`The server sent requests in more than ${MAX_ROUNDS} results for one call.`);
      return;
    }
    const excess = tooManyServerRequests(answer, this.#lease.server);
    if (excess !== undefined) {
      this.pass(excess);
      return;
    }
    const round = roundOf(answer);
    const refused = round.requests.find(({ request }) => !this.#canAsk(request));
    if (refused !== undefined || (round.requests.length === 0 && round.state === undefined)) {
      this.#giveUp(`The server asks for ${refused?.request.method ?? 'nothing'}.`);
      return;
    }
    this.canceller = undefined; // the call at the server is over
    this.#state = round.state;
    this.#answers = new Map();
    for (const { key, request } of round.requests)
      this.#asked.set(key, new RoundTrip(this, key, request));
    if (this.#asked.size === 0) {
      this.#retry();
      return;
    }
    this.#limit = after(ROUND_LIMIT_MS, () =>
      this.#giveUp('The client did not answer the requests of the server in time.'),
    );
    for (const serverRequest of [...this.#asked.values()]) {
      // If one is refused at once, the call ends, and the others need not be sent.
      if (this.#asked.has(serverRequest.key)) this.client.ask(serverRequest, this.original);
    }
  }

  #canAsk(request: Frame): boolean {
    if (request.kind !== 'request' || keyLetter(request.method) === undefined) return false;
    const mode = textParam(request, 'mode');
    return refusalFor(this.client.capabilities, request.method, mode) === undefined;
  }

  /** Takes a client's answer to one server request of the round. */
  take(serverRequest: RoundTrip, result: Buffer | undefined): void {
    if (!this.#asked.delete(serverRequest.key)) return;
    if (result !== undefined) {
      this.#answers.set(serverRequest.key, Buffer.from(result));
      if (this.#asked.size === 0) this.#retry();
    } else if (serverRequest.frame.method === ELICITATION) {
      this.#asked.set(serverRequest.key, serverRequest);
      serverRequest.settle(replyForNobody(serverRequest));
    } else {
      // MCP can't tell a modern server that a client refused (docs/protocol.md#rounds-of-server-requests).
      this.#giveUp(`The client did not answer ${serverRequest.frame.method}.`);
    }
  }

  /** Sends the request again, with the answers. */
  #retry(): void {
    this.#limit?.cancel();
    const responses = [...this.#answers].map(
      ([key, value]) => `${jsonText(key)}:${value.toString('utf8')}`,
    );
    const params = new Map<string, Buffer>([
      ['inputResponses', Buffer.from(`{${responses.join(',')}}`)],
    ]);
    if (this.#state !== undefined) params.set('requestState', jsonBytes(this.#state));
    this.frame = this.#frameWith(params);
    this.#lease.dispatch(this);
  }

  /** The request for the server. */
  #frameWith(params: ReadonlyMap<string, Buffer>): Frame {
    const meta = envelopeOf(this.client, this.#lease);
    return withParams(this.#request, meta, params, isNoneOfLegacy);
  }

  /** Gives up the call. For the client, its tool has failed. */
  #giveUp(text: string): void {
    this.pass(failedCall(this.original.frame.method, text));
  }

  protected override ended(): void {
    this.#limit?.cancel();
    const open = [...this.#asked.values()];
    this.#asked.clear();
    for (const serverRequest of open) this.client.withdraw(serverRequest, undefined);
  }
}

/** One server request of a round. */
class RoundTrip implements ServerRequest {
  readonly key: string;
  readonly frame: Frame;
  readonly #call: LegacyToModern;

  constructor(call: LegacyToModern, key: string, frame: Frame) {
    this.#call = call;
    this.key = key;
    this.frame = frame;
  }

  settle(reply: Reply): void {
    this.#call.take(this, resultOf(reply));
  }

  progress(): void {
    // A modern server can't receive progress.
  }
}

interface RoundTripText {
  readonly requests: readonly { readonly key: string; readonly request: Frame }[];
  readonly state: string | undefined;
}

/** The server requests and the state in an `input_required` result. */
function roundOf(answer: Frame): RoundTripText {
  const { bytes, resultStart, resultEnd } = answer;
  const members = new Map(
    membersOf(bytes, resultStart, resultEnd).map((member) => [member.key, member]),
  );
  const asked = members.get('inputRequests');
  const state = members.get('requestState');
  const requests =
    asked === undefined
      ? []
      : membersOf(bytes, asked.valueStart, asked.valueEnd).map(({ key, valueStart, valueEnd }) => ({
          key,
          request: requestOf(bytes.subarray(valueStart, valueEnd)),
        }));
  return {
    requests,
    state: state === undefined ? undefined : parseString(bytes, state.valueStart, state.valueEnd),
  };
}

/** An entry of `inputRequests` as a legacy request. */
function requestOf(entry: Buffer): Frame {
  const set = new Map([
    ['jsonrpc', Buffer.from('"2.0"')],
    ['id', Buffer.from('0')],
  ]);
  return withElicitationId(scan(editObject(entry, 0, entry.length, { set })));
}

/** Legacy clients need an id for a URL elicitation, which modern servers don't send. */
function withElicitationId(request: Frame): Frame {
  const { bytes, method, paramsStart, paramsEnd } = request;
  if (method !== ELICITATION || textParam(request, 'mode') !== 'url') return request;
  if (lastMember(bytes, paramsStart, paramsEnd, 'elicitationId') !== undefined) return request;
  const set = new Map([['elicitationId', jsonBytes(unguessableId())]]);
  return withEdited(request, paramsStart, paramsEnd, { set });
}

/** What a session said in `initialize`, as the envelope of a request. */
function envelopeOf(client: Downstream, lease: Lease): Map<string, Buffer> {
  const envelope = new Map<string, Buffer>([
    [META.protocolVersion, jsonBytes(MODERN_VERSION)],
    [META.clientCapabilities, jsonBytes(modernCapabilities(client.capabilities))],
    [META.clientInfo, jsonBytes(client.info)],
  ]);
  if (lease.severity !== undefined) {
    envelope.set(META.logLevel, jsonBytes(levelOf(lease.severity)));
  }
  return envelope;
}

// A session has no modern tasks and no states here. If these members are present, they come from somewhere
// else.
function isNoneOfLegacy(key: string): boolean {
  return key === 'task' || key === 'requestState' || key === 'inputResponses';
}
