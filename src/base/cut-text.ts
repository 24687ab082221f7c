// Limits texts of peers in the gateway's own texts. An answer of a server may be megabytes long; without a
// limit it would be in the log and in the error of every caller.

/** Enough of a text to see what it is about. */
const MAX_LENGTH = 500;

/**
 * The beginning of a text that is too long.
 * @param maxLength in UTF-16 code units; a shorter text is returned unchanged
 */
export function cutText(text: string, maxLength: number = MAX_LENGTH): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength).toWellFormed()}... (${text.length} characters)`;
}
