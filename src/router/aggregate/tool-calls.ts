// Applies the configuration of tools to calls: fixed arguments, validation of arguments, and the queue of a
// tool with limited concurrency.

import { withArguments } from '../../catalog/arguments.ts';
import type { ToolPolicy } from '../../catalog/member-catalog.ts';
import type { OfferedEntry } from '../../catalog/offered-entry.ts';
import type {
  ArgumentValidators,
  Validator,
} from '../../catalog/validation/argument-validators.ts';
import { invalidParams, type WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { hasDuplicateKeys, memberText } from '../../jsonrpc/members.ts';
import { ERRORS } from '../../mcp/errors.ts';
import { FAILURES } from '../../mcp/failures.ts';
import type { Logger } from '../../observe/logger.ts';
import { queueOwnerOf } from '../../ports/queue-owner.ts';
import { contain, type Request } from '../../ports/request.ts';
import type { ClientLeases } from './aggregate-router.ts';
import type { RouteTarget } from './routed-request.ts';
import { ToolConcurrency } from './tool-concurrency.ts';

/** A call of a listed tool. */
type ToolCall = RouteTarget & { readonly entry: OfferedEntry };

const NOTHING: ToolPolicy = { arguments: new Map(), timeoutMs: undefined, concurrency: undefined };

/** The calls of the tools of one endpoint. */
export class ToolCalls {
  readonly #concurrency = new ToolConcurrency();
  readonly #validators: ArgumentValidators;
  readonly #byTool = new WeakMap<OfferedEntry, Validator | undefined>();
  readonly #logger: Logger;

  constructor(validators: ArgumentValidators, logger: Logger) {
    this.#validators = validators;
    this.#logger = logger;
  }

  /** Sends a request on: at once, unless it calls a tool with special options. */
  send(request: Request, target: RouteTarget, leases: ClientLeases): void {
    const { member, entry } = target;
    if (entry === undefined || (entry.toolPolicy === undefined && member.validation === 'off')) {
      leases.send(request, target);
      return;
    }
    const toolPolicy = entry.toolPolicy ?? NOTHING;
    const frame = withArguments(target.frame, toolPolicy.arguments);
    if (frame === undefined) {
      request.settle(ERRORS.badArguments);
      return;
    }
    const { timeoutMs: limitMs, concurrency } = toolPolicy;
    const isReworded = target.isReworded === true || frame !== target.frame;
    const call = { ...target, entry, frame, isReworded, limitMs };
    if (member.validation === 'off') this.#go(request, call, concurrency, leases);
    else {
      const go = (): void => this.#go(request, call, concurrency, leases);
      contain(request, this.#check(request, call, go));
    }
  }

  #go(
    request: Request,
    call: ToolCall,
    concurrency: number | undefined,
    leases: ClientLeases,
  ): void {
    if (concurrency === undefined) {
      leases.send(request, call);
      return;
    }
    const key = `${call.member.key} ${call.entry.upstream}`;
    this.#concurrency.enter(request, key, concurrency, (own) => leases.send(own, call));
  }

  async #check(request: Request, call: ToolCall, go: () => void): Promise<void> {
    const isEnforced = call.member.validation === 'enforce';
    const args = argumentsOf(call.frame);
    // The last one of two members with one name is checked, but a server may read the first one.
    if (isEnforced && args !== undefined && hasDuplicateKeys(args, 0, args.length)) {
      request.settle(invalid([{ path: '', message: 'has two members of one name' }]));
      return;
    }
    const whom = { caller: queueOwnerOf(request.client), server: call.member.key };
    const result = await this.#validatorOf(call)?.check(args, whom);
    if (request.isSettled) return;
    if (result?.kind === 'busy' && isEnforced) {
      request.settle(FAILURES.notChecked());
    } else if (result?.kind === 'invalid' && isEnforced) {
      request.settle(invalid(result.errors));
    } else {
      if (result?.kind === 'invalid') this.#warn(call, result.errors);
      go();
    }
  }

  #warn({ entry, member }: ToolCall, errors: readonly unknown[]): void {
    const where = { server: member.key, tool: entry.upstream };
    this.#logger.warn({ ...where, errors }, "arguments of a call do not fit the tool's schema");
  }

  #validatorOf({ entry, member }: ToolCall): Validator | undefined {
    if (this.#byTool.has(entry)) return this.#byTool.get(entry);
    const schema = memberText(entry.ownText, 0, entry.ownText.length, 'inputSchema');
    const validator =
      schema &&
      this.#validators.validator(schema, (reason) => {
        const where = { server: member.key, tool: entry.upstream };
        this.#logger.warn(
          { ...where, reason },
          'schema of a tool can not be used: its arguments are not checked',
        );
      });
    this.#byTool.set(entry, validator);
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
