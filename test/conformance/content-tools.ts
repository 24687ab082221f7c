/**
 * Owns the tools of both fixtures that answer with the same content each time, as plain data. Names,
 * schemas and texts are the suite's.
 */

import { type Content, type InputSchema, PNG_1X1, WAV_EMPTY } from './content.ts';
import { SCHEMA_2020_12 } from './schemas.ts';

/** A tool as listed, and its result. */
interface ContentTool {
  name: string;
  description: string;
  inputSchema: InputSchema;
  result: { content: Content[]; isError?: boolean };
}

/** The schema of a tool without arguments. */
export const NO_ARGUMENTS: InputSchema = { type: 'object', properties: {} };

/** The schema of a tool with one string, which it needs. */
export function oneString(name: string, description: string): InputSchema {
  return {
    type: 'object',
    properties: { [name]: { type: 'string', description } },
    required: [name],
  };
}

function define(name: string, description: string, ...content: Content[]): ContentTool {
  return { name, description, inputSchema: NO_ARGUMENTS, result: { content } };
}

/** Those tools, in the order of `tools/list`. */
export const CONTENT_TOOLS: readonly ContentTool[] = [
  define('test_simple_text', 'Returns one text', {
    type: 'text',
    text: 'This is a simple text response for testing.',
  }),
  define('test_image_content', 'Returns an image', {
    type: 'image',
    data: PNG_1X1,
    mimeType: 'image/png',
  }),
  define('test_audio_content', 'Returns audio', {
    type: 'audio',
    data: WAV_EMPTY,
    mimeType: 'audio/wav',
  }),
  define('test_embedded_resource', 'Returns an embedded resource', {
    type: 'resource',
    resource: {
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    },
  }),
  define(
    'test_multiple_content_types',
    'Returns a text, an image and a resource',
    { type: 'text', text: 'Multiple content types test:' },
    { type: 'image', data: PNG_1X1, mimeType: 'image/png' },
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: '{"test":"data","value":123}',
      },
    },
  ),
  {
    ...define('test_error_handling', 'Always fails'),
    result: {
      content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }],
      isError: true,
    },
  },
  {
    ...define('json_schema_2020_12_tool', 'Tool with JSON Schema 2020-12 features', {
      type: 'text',
      text: 'called',
    }),
    inputSchema: SCHEMA_2020_12,
  },
  {
    ...define('test_x_mcp_header', 'Has an argument that a header repeats', {
      type: 'text',
      text: 'called',
    }),
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
  },
];
