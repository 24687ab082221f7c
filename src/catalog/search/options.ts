// `toolList:` of an endpoint (docs/tool-search.md): whether clients are shown all tools, or three tools
// to find and call them with.
import { oneOf } from '../../base/options.ts';

/** What `tools/list` of an endpoint shows. */
export type ToolListMode = 'full' | 'search';

/** `toolList:` */
export const toolListSchema = oneOf(['full', 'search']).prefault('full').meta({
  description:
    '`full` lists all tools. `search` lists only `find_tools`, `describe_tool` and `call_tool`, for endpoints with too many tools for a model.',
});
