// The members of messages that the gateway acts on, as the scanner looks for them.
import { FoldedNames } from './keys.ts';

// Members that decide where a message goes. A peer that folds case or cuts at NUL would read
// another spelling of one as the member itself and do something else than was routed
// (docs/reliability.md#c01), so other spellings are refused.
/** Of the message itself. */
export const TOP_MEMBERS = new FoldedNames([
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
]);
/** Of `params`, in lower case. */
export const PARAM_MEMBERS = new FoldedNames(
  'name uri _meta arguments requestid progresstoken requeststate inputresponses taskid ref'.split(
    ' ',
  ),
);

// The members of `params` that the protocol has, those that are noted first; `noteParam` knows them by
// their place. Somewhere the gateway acts on each, so none may stand twice, nor those of `params._meta`:
// a server that takes the other one of two would do what nobody has checked.
/** Of `params`. */
export const PARAM_KEYS = (
  'name _meta uri requestId progressToken progress level inputResponses requestState id ' +
  'arguments cursor ref argument context reason data taskId task notifications elicitationId'
)
  .split(' ')
  .map((key) => Buffer.from(key));
/** Of `params._meta`, in lower case: other spellings are refused. */
export const META_MEMBERS = new FoldedNames(['progresstoken']);
/** Of `params._meta`: none may stand twice. */
export const META_KEYS =
  'protocolVersion clientInfo clientCapabilities logLevel subscriptionId related-task'
    .split(' ')
    .map((key) => Buffer.from(`io.modelcontextprotocol/${key}`));
