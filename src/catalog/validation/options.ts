// `validateArguments:` of an endpoint or a server (docs/validation.md): whether arguments of a tool
// call are checked against the schema that the server itself published.
import { oneOf } from '../../base/options.ts';

/** What becomes of a call whose arguments don't fit the tool's schema. */
export type ValidationMode = 'off' | 'warn' | 'enforce';

/** `validateArguments:` */
export const validateArgumentsSchema = oneOf(['off', 'warn', 'enforce']).prefault('off').meta({
  description:
    "Check the arguments of tool calls against the tool's input schema. `warn` logs calls with invalid arguments, `enforce` refuses them.",
});
