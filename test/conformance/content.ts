/**
 * Owns the media and the content types of both fixtures: the smallest valid PNG and WAV. The suite only looks at kind and MIME type, but real bytes let a strict
 * client decode them.
 */

/** A 1x1 red PNG, base64. */
export const PNG_1X1 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** A WAV header with no samples (8 kHz, mono, 16 bit), base64. */
export const WAV_EMPTY = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

/** A block of a tool's result or a prompt's message, as both SDKs type it. */
export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } };

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The schema of a tool's arguments. */
export interface InputSchema {
  type: 'object';
  properties?: Record<string, { [keyword: string]: Json }>;
  required?: string[];
  [keyword: string]: unknown;
}
