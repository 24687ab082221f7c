// Requests in flight count in the budget of held bytes: by whose they are, and no longer than they are
// waited for.
import { afterEach, describe, expect, it } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { until } from '../../support/until.ts';
import { type Era, endpointsInProcess } from './endpoints-in-process.ts';

const KIB = 1024;
const PAD = 'x'.repeat(100 * KIB);

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function harnessOf(held: HeldBytes, server: Era = 'legacy') {
  const harness = await endpointsInProcess(server, { request: '60s', held });
  closing.push(harness.close);
  return harness;
}

describe.each(['legacy', 'modern'] as const)('The requests of a %s client', (era) => {
  it('count while they are in flight, whatever their size', async () => {
    const held = new HeldBytes({ limitBytes: 2_000 * KIB, shareBytes: 2_000 * KIB });
    const harness = await harnessOf(held);
    const client = await harness.client('/servers/a', era);
    client.call('large', 'hang', { pad: PAD });
    client.call('small', 'hang', {});
    await until(() => harness.calls('a') === 2);
    expect(held.byKind.call).toBeGreaterThan(100 * KIB);
    client.cancel('large');
    expect(held.byKind.call).toBeGreaterThan(0);
    expect(held.byKind.call).toBeLessThan(10 * KIB);
    client.cancel('small');
    expect(held.byKind.call).toBe(0);
    client.call('last', 'hang', { pad: PAD });
    await until(() => harness.calls('a') === 3);
    client.close();
    expect(held.total).toBe(0);
  });

  it('are refused beyond its share, and those of others are not', async () => {
    const held = new HeldBytes({ limitBytes: 1_000 * KIB, shareBytes: 250 * KIB });
    const harness = await harnessOf(held);
    const ann = await harness.client('/servers/a', era, 'ann');
    const bob = await harness.client('/servers/a', era, 'bob');
    for (const id of [1, 2, 3]) ann.call(`a${id}`, 'hang', { pad: PAD });
    bob.call('b1', 'hang', { pad: PAD });
    await until(() => harness.calls('a') === 3);
    expect(ann.reasons()).toEqual(new Set(['overloaded']));
    expect(ann.answers).toBe(1);
    expect(bob.answers).toBe(0);
    ann.cancel('a1');
    ann.call('a4', 'hang', { pad: PAD });
    await until(() => harness.calls('a') === 4);
    expect(ann.answers).toBe(1);
  });

  it('give way when the whole is exceeded and the client holds most: the server is told', async () => {
    const held = new HeldBytes({ limitBytes: 500 * KIB, shareBytes: 500 * KIB });
    const harness = await harnessOf(held);
    const ann = await harness.client('/servers/a', era, 'ann');
    for (const id of [1, 2, 3]) ann.call(`a${id}`, 'hang', { pad: PAD });
    await until(() => harness.calls('a') === 3);
    held.client({ key: 'bob', kind: 'key' }).hold('unread', 250 * KIB, () => undefined);
    expect(ann.answers).toBe(1);
    expect(ann.failures()).toMatchObject([{ reason: 'overloaded', outcome: 'unknown' }]);
    await until(() => harness.notices('a', 'notifications/cancelled') === 1);
    expect(held.byKind.call).toBeGreaterThan(200 * KIB);
    expect(held.total).toBeLessThanOrEqual(500 * KIB);
  });
});

describe('What a client says of itself', () => {
  it('counts as long as its session, by what it costs once it is parsed', async () => {
    const held = new HeldBytes({ limitBytes: 2_000 * KIB, shareBytes: 2_000 * KIB });
    const harness = await harnessOf(held);
    const modest = await harness.client('/servers/a', 'legacy');
    const before = held.byKind.session;
    expect(before).toBeGreaterThan(100);
    expect(before).toBeLessThan(4 * KIB);
    const experimental = { x: Array.from({ length: 1_000 }, () => ({})) };
    const talkative = await harness.client('/servers/a', 'legacy', undefined, { experimental });
    expect(held.byKind.session - before).toBeGreaterThan(64 * KIB);
    talkative.close();
    modest.close();
    expect(held.total).toBe(0);
  });

  it('is refused when it is very long, in both eras', async () => {
    const harness = await harnessOf(new HeldBytes({ limitBytes: 2 ** 30, shareBytes: 2 ** 30 }));
    const experimental = { x: 'x'.repeat(300 * KIB) };
    const legacy = await harness.client('/servers/a', 'legacy', undefined, { experimental });
    expect(legacy.messages()).toEqual([
      'Invalid params: initialize must have at most 262144 bytes.',
    ]);
    const modern = await harness.client('/servers/a', 'modern');
    modern.call('long', 'hang', {}, { capabilities: { experimental } });
    await until(() => modern.answers === 1);
    expect(modern.messages()).toEqual(['Invalid params: _meta must have at most 262144 bytes.']);
  });
});
