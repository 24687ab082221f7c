// Texts of others in texts of the gateway's own: an answer may be megabytes long, and stands then in a
// line of the log and in the error of every caller.

/** As much of a text as says what it is about. */
const MAX_LENGTH = 500;

/**
 * The beginning of a text that is longer than anybody reads.
 * @param maxLength in UTF-16 code units; a text that fits is returned as it is
 */
export function cutText(text: string, maxLength: number = MAX_LENGTH): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength).toWellFormed()}... (${text.length} characters)`;
}
