/**
 * Where the frames of a WebSocket begin: however what was read is cut up, so many of them are in a piece.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameHeads } from '../../../src/listener/websocket/frame-heads.ts';

const MOST_BYTES = 200;
const MOST_FRAMES = 3;

/** A frame as RFC 6455 5.2 has it. */
function frame(length: number, isMasked: boolean): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const head = Buffer.alloc(length < 126 ? 2 : length < 0x1_00_00 ? 4 : 10);
  head[0] = 0x81;
  if (head.length === 2) head[1] = mask | length;
  else if (head.length === 4) {
    head[1] = mask | 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = mask | 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  // A payload that would be taken for heads, if it were looked at.
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0, 0x81), Buffer.alloc(length, 0x81)]);
}

/** Where each frame begins. */
function startsOf(frames: readonly Buffer[]): number[] {
  let at = 0;
  return frames.map(({ length }) => {
    at += length;
    return at - length;
  });
}

const anyFrame = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 130 }) },
      fc.constantFrom(125, 126, 127, 0xff_ff, 0x1_00_00, 0x1_00_01),
    ),
    fc.boolean(),
  )
  .map(([length, isMasked]) => frame(length, isMasked));

it('however frames are cut into reads, each piece has so many of them, and nothing is lost', () => {
  fc.assert(
    fc.property(
      fc.array(anyFrame, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 20 }),
      (frames, cuts) => {
        const all = Buffer.concat(frames);
        const starts = startsOf(frames);
        const heads = new FrameHeads();
        let at = 0;
        for (let cut = 0; at < all.length; cut++) {
          let rest = all.subarray(at, at + (cuts[cut % cuts.length] ?? 1));
          while (rest.length > 0) {
            const piece = heads.pieceOf(rest, MOST_BYTES, MOST_FRAMES);
            const began = starts.filter((start) => start >= at && start < at + piece.length);
            expect(piece.equals(rest.subarray(0, piece.length))).toBe(true);
            expect(piece.length).toBeGreaterThan(0);
            expect(piece.length).toBeLessThanOrEqual(MOST_BYTES);
            expect(heads.frames).toBe(began.length);
            expect(heads.frames).toBeLessThanOrEqual(MOST_FRAMES);
            at += piece.length;
            rest = rest.subarray(piece.length);
          }
        }
        expect(at).toBe(all.length);
      },
    ),
    { numRuns: 300 },
  );
});
