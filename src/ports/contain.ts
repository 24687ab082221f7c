// What breaks in the gateway while it works on a request fails that request, and nothing else.
import { asGatewayError } from '../base/errors.ts';
import type { Exchange } from './exchange.ts';

/** Has a request fail when work on it that goes on by itself breaks: else nobody would answer it. */
export function contain(exchange: Pick<Exchange, 'fail'>, work: Promise<unknown>): void {
  work.catch((error: unknown) => exchange.fail(asGatewayError(error)));
}
