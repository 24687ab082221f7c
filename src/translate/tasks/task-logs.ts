// Whether a client wants a log message that a server sends for its task
// (docs/protocol.md#log-messages).
import type { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { DEFAULT_SHARED_LEVEL, severityOf } from '../../mcp/log-levels.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';

/** Whether `client` wants the log message, by what it asked for itself or at its place. */
export function wantsLog(
  message: Frame,
  client: Downstream | undefined,
  lease: Pick<Lease, 'severity' | 'isShared'>,
): boolean {
  const severity = severityOf(parseString(message.bytes, message.levelStart, message.levelEnd));
  const unset = lease.isShared ? severityOf(DEFAULT_SHARED_LEVEL) : 0;
  return (severity ?? 0) >= (client?.logThreshold ?? lease.severity ?? unset ?? 0);
}
