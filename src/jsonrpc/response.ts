// Frames of responses that the gateway makes, for code that reads responses of servers and clients. Their id
// is not used.
import type { WireError } from './error.ts';
import type { Frame } from './frame.ts';
import { scan } from './scan.ts';
import { errorMessage, resultMessage } from './serialize.ts';

const ANY_ID = Buffer.from('0');

/** @param result JSON text */
export function resultFrame(result: Buffer): Frame {
  return scan(resultMessage(ANY_ID, result));
}

export function errorFrame(error: WireError): Frame {
  return scan(errorMessage(ANY_ID, error));
}
