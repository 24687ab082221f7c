// What comes between a client's call of a tool and the server, where the configuration says so: fixed
// arguments, a check against the tool's schema, a turn in the tool's queue.
import { GatewayError } from '../../base/errors.ts';
import { withArguments } from '../../catalog/arguments.ts';
import type { OfferedEntry } from '../../catalog/listing.ts';
import type { ToolPolicy } from '../../catalog/member-catalog.ts';
import type {
  ArgumentValidators,
  Validator,
} from '../../catalog/validation/argument-validators.ts';
import { invalidParams, type WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { hasDuplicateKeys, memberText } from '../../jsonrpc/members.ts';
import type { Logger } from '../../observe/logger.ts';
import { callerOf } from '../../ports/caller.ts';
import { contain, type Request } from '../../ports/request.ts';
import type { RouteTarget, Send } from './dispatch-route.ts';
import { ToolConcurrency } from './tool-concurrency.ts';

/** A call of a tool that was found. */
interface ToolCall {
  readonly tool: OfferedEntry;
  readonly target: RouteTarget;
}

const NOTHING: ToolPolicy = { arguments: new Map(), timeoutMs: undefined, concurrency: undefined };

/** Calls of the tools of one endpoint. */
export class ToolCalls {
  readonly #concurrency = new ToolConcurrency();
  readonly #validators: ArgumentValidators;
  readonly #byTool = new WeakMap<OfferedEntry, Validator | undefined>();
  readonly #logger: Logger;

  constructor(validators: ArgumentValidators, logger: Logger) {
    this.#validators = validators;
    this.#logger = logger;
  }

  /**
   * Sends a call on as it is to be made, at once where nothing is said about the tool.
   * @param tool or a prompt, of which nothing is ever said
   */
  send(request: Request, target: RouteTarget, tool: OfferedEntry, send: Send): void {
    const { validation } = target.member;
    if (tool.toolPolicy === undefined && validation === 'off') {
      send(request, target, { entry: tool });
      return;
    }
    const toolPolicy = tool.toolPolicy ?? NOTHING;
    const frame = withArguments(target.frame, toolPolicy.arguments);
    if (frame === undefined) {
      request.settle(invalidParams('arguments must be an object.'));
      return;
    }
    const own: RouteTarget =
      frame === target.frame ? target : { ...target, frame, isReworded: true };
    const call = { tool, target: own };
    const go = (): void => this.#go(request, call, toolPolicy, send);
    if (validation === 'off') go();
    else contain(request, this.#check(request, call, go));
  }

  #go(
    request: Request,
    { tool, target }: ToolCall,
    { concurrency, timeoutMs }: ToolPolicy,
    send: Send,
  ): void {
    const sendOptions = { entry: tool, limitMs: timeoutMs };
    if (concurrency === undefined) {
      send(request, target, sendOptions);
      return;
    }
    const key = `${target.member.key} ${tool.upstream}`;
    this.#concurrency.enter(request, key, concurrency, (own) => send(own, target, sendOptions));
  }

  async #check(request: Request, call: ToolCall, go: () => void): Promise<void> {
    const isEnforced = call.target.member.validation === 'enforce';
    const args = argumentsOf(call.target.frame);
    // What is checked is the last of two members of one name; a server may read the first.
    if (isEnforced && args !== undefined && hasDuplicateKeys(args, 0, args.length)) {
      request.settle(invalid([{ path: '', message: 'has two members of one name' }]));
      return;
    }
    const whom = { caller: callerOf(request.client), server: call.target.member.key };
    const result = await this.#validatorOf(call)?.check(args, whom);
    if (request.isSettled) return;
    if (result?.kind === 'busy' && isEnforced) {
      const text = 'The arguments could not be checked now, since there is too much to check.';
      request.settle(new GatewayError('overloaded', text, { outcome: 'not_sent' }));
    } else if (result?.kind === 'invalid' && isEnforced) {
      request.settle(invalid(result.errors));
    } else {
      if (result?.kind === 'invalid') this.#warn(call, result.errors);
      go();
    }
  }

  #warn({ tool, target }: ToolCall, errors: readonly unknown[]): void {
    const where = { server: target.member.key, tool: tool.upstream };
    this.#logger.warn({ ...where, errors }, "arguments of a call do not fit the tool's schema");
  }

  #validatorOf({ tool, target }: ToolCall): Validator | undefined {
    if (this.#byTool.has(tool)) return this.#byTool.get(tool);
    const schema = memberText(tool.ownText, 0, tool.ownText.length, 'inputSchema');
    const validator =
      schema &&
      this.#validators.validator(schema, (reason) => {
        const where = { server: target.member.key, tool: tool.upstream };
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
  return {
    ...invalidParams(`the arguments do not fit the tool's schema${what}`),
    data: { errors },
  };
}
