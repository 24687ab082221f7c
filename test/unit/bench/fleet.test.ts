// The list of the benchmark's big fleet.
import { describe, expect, test } from 'vitest';
import { FLEET, fleetListBytes, fleetPages, fleetTools } from '../../bench/fleet.ts';

interface Page {
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly nextCursor?: string;
}

const pagesOf = (size: typeof FLEET): Page[] =>
  fleetPages(size).map((page) => JSON.parse(page) as Page);

describe('fleet', () => {
  test('has every tool once, under a name of its own', () => {
    const names = pagesOf(FLEET).flatMap(({ tools }) => tools.map(({ name }) => name));
    expect(names).toHaveLength(FLEET.servers * FLEET.toolsEach);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  test('comes in pages of which the last has no cursor', () => {
    const pages = pagesOf(FLEET);
    expect(pages).toHaveLength(2);
    expect(pages.map(({ nextCursor }) => typeof nextCursor)).toEqual(['string', 'undefined']);
    expect(pagesOf({ servers: 1, toolsEach: 3 })).toHaveLength(1);
  });

  test('describes tools at ordinary length', () => {
    for (const { description } of fleetTools(0, 20)) {
      expect(description.length).toBeGreaterThan(150);
      expect(description.length).toBeLessThan(250);
    }
  });

  test('weighs no less than it is said to', () => {
    const bytes = fleetPages(FLEET).reduce((sum, page) => sum + Buffer.byteLength(page), 0);
    expect(bytes).toBeGreaterThanOrEqual(fleetListBytes(FLEET));
  });
});
