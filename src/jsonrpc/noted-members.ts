// The members that the scanner looks for, because the gateway uses them.
import { FoldedNames } from './keys.ts';

// These members decide where a message goes. A peer that ignores case or cuts at NUL would read another
// spelling as the same member, and do something else than what was routed (docs/reliability.md#c01). So other
// spellings are refused.
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

// The members of `params` that the protocol defines. The first ones are noted; `noteParam` knows them by
// their index. Since the gateway uses each of them somewhere, none may be duplicated. The same holds for
// `params._meta`: a server that takes the other one of two would do something that nobody has checked.
/** Of `params`. */
export const PARAM_KEYS = (
  'name _meta uri requestId progressToken progress level inputResponses requestState id ' +
  'arguments cursor ref argument context reason data taskId task notifications elicitationId'
)
  .split(' ')
  .map((key) => Buffer.from(key));
/** In `params._meta`, in lower case: other spellings are refused. */
export const META_MEMBERS = new FoldedNames(['progresstoken']);
/** In `params._meta`: must not be duplicated. */
export const META_KEYS =
  'protocolVersion clientInfo clientCapabilities logLevel subscriptionId related-task'
    .split(' ')
    .map((key) => Buffer.from(`io.modelcontextprotocol/${key}`));
