/** Somebody who may hold anything, where a test is about something else. */
import { HeldBytes, type HeldOwner } from '../../src/base/held-bytes.ts';

const UNBOUNDED = { limitBytes: Number.POSITIVE_INFINITY, shareBytes: Number.POSITIVE_INFINITY };

export function anyOwner(): () => HeldOwner {
  const owner = new HeldBytes(UNBOUNDED).client({ key: 'anybody' });
  return () => owner;
}
