/**
 * Owns the media and texts that the legacy fixture returns from more than one place: the smallest
 * valid PNG and WAV. The suite only looks at kind and MIME type, but real bytes let a strict
 * client decode them.
 */

/** A 1x1 red PNG, base64. */
export const PNG_1X1 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** A WAV header with no samples (8 kHz, mono, 16 bit), base64. */
export const WAV_EMPTY = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
