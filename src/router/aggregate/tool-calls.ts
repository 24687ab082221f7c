// What comes between a client's call of a tool and the server, where the configuration says so: fixed
// arguments, a check against the tool's schema, a turn in the tool's lane.
import { GatewayError } from '../../base/errors.ts';
import { withArguments } from '../../catalog/arguments.ts';
import type { OfferedEntry } from '../../catalog/listing.ts';
import type { ToolTerms } from '../../catalog/member-catalog.ts';
import type {
  ArgumentValidators,
  Validator,
} from '../../catalog/validation/argument-validators.ts';
import type { ValidationMode } from '../../catalog/validation/options.ts';
import { INVALID_PARAMS, type WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { memberText } from '../../jsonrpc/members.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Exchange } from '../../ports/exchange.ts';
import type { Candidate } from './route.ts';
import { ToolLanes } from './tool-lanes.ts';

/** A call of a tool that was found. */
export interface ToolCall {
  readonly tool: OfferedEntry;
  readonly candidate: Candidate;
  readonly validation: ValidationMode;
}

/** Sends a call on, with what became of it. */
export type SendCall<E extends Exchange> = (
  exchange: E,
  candidate: Candidate,
  limitMs: number | undefined,
) => void;

const NOTHING: ToolTerms = { arguments: new Map(), timeoutMs: undefined, concurrency: undefined };

/** Calls of the tools of one endpoint. */
export class ToolCalls {
  readonly #lanes = new ToolLanes();
  readonly #validators: ArgumentValidators;
  readonly #byTool = new WeakMap<OfferedEntry, Validator | undefined>();
  readonly #logger: Logger;

  constructor(validators: ArgumentValidators, logger: Logger) {
    this.#validators = validators;
    this.#logger = logger;
  }

  /** Lets a call go on as it is to be made, at once where nothing is said about the tool. */
  prepare<E extends Exchange>(exchange: E, call: ToolCall, send: SendCall<E>): void {
    const { tool, candidate, validation } = call;
    if (tool.terms === undefined && validation === 'off') {
      send(exchange, candidate, undefined);
      return;
    }
    const terms = tool.terms ?? NOTHING;
    const frame = withArguments(candidate.frame, terms.arguments);
    if (frame === undefined) {
      const message = 'Invalid params: arguments must be an object.';
      exchange.refuse({ code: INVALID_PARAMS, message });
      return;
    }
    const own: Candidate =
      frame === candidate.frame ? candidate : { ...candidate, frame, isReworded: true };
    const go = (): void => this.#go(exchange, own, terms, { tool, send });
    if (validation === 'off') go();
    else void this.#check(exchange, { ...call, candidate: own }, go);
  }

  #go<E extends Exchange>(
    exchange: E,
    candidate: Candidate,
    { concurrency, timeoutMs }: ToolTerms,
    { tool, send }: { readonly tool: OfferedEntry; readonly send: SendCall<E> },
  ): void {
    if (concurrency === undefined) {
      send(exchange, candidate, timeoutMs);
      return;
    }
    const key = `${candidate.key} ${tool.upstream}`;
    this.#lanes.enter(exchange, key, concurrency, (own) => send(own as E, candidate, timeoutMs));
  }

  async #check(exchange: Exchange, call: ToolCall, go: () => void): Promise<void> {
    const result = await this.#validatorOf(call)?.check(argumentsOf(call.candidate.frame));
    if (exchange.isSettled) return;
    const isEnforced = call.validation === 'enforce';
    if (result?.kind === 'busy' && isEnforced) {
      const text = 'The arguments could not be checked now, since there is too much to check.';
      exchange.fail(new GatewayError('overloaded', text, { outcome: 'not_sent' }));
    } else if (result?.kind === 'invalid' && isEnforced) {
      exchange.refuse(invalid(result.errors));
    } else {
      if (result?.kind === 'invalid') this.#warn(call, result.errors);
      go();
    }
  }

  #warn({ tool, candidate }: ToolCall, errors: readonly unknown[]): void {
    const where = { server: candidate.key, tool: tool.upstream };
    this.#logger.warn({ ...where, errors }, "arguments of a call do not fit the tool's schema");
  }

  #validatorOf({ tool, candidate }: ToolCall): Validator | undefined {
    if (this.#byTool.has(tool)) return this.#byTool.get(tool);
    const schema = memberText(tool.ownText, 0, tool.ownText.length, 'inputSchema');
    const validator =
      schema &&
      this.#validators.validator(schema, (reason) => {
        const where = { server: candidate.key, tool: tool.upstream };
        this.#logger.warn({ ...where, reason }, 'schema of a tool can not be used for checks');
      });
    this.#byTool.set(tool, validator);
    return validator;
  }
}

function argumentsOf({ bytes, paramsStart, paramsEnd }: Frame): Buffer | undefined {
  return paramsStart < 0 ? undefined : memberText(bytes, paramsStart, paramsEnd, 'arguments');
}

function invalid(
  errors: readonly { readonly path: string; readonly message: string }[],
): WireError {
  const [first] = errors;
  const what = first === undefined ? '' : `: ${first.path || '/'} ${first.message}`;
  const message = `Invalid params: the arguments do not fit the tool's schema${what}`;
  return { code: INVALID_PARAMS, message, data: { errors } };
}
