/**
 * Two members of one name: parsers take the last, but some servers the first. What was checked must be what
 * a server does, so nothing of the kind reaches one that would do the other (docs/reliability.md#c01).
 */
import { describe, expect, it } from 'vitest';
import { CatalogServer } from '../../support/catalog-server.ts';
import { ERAS, type Era, sessionAt } from '../../support/era-client.ts';
import { post } from '../../support/http-client.ts';
import { useGateway } from '../../support/use-gateway.ts';
import type { WireMessage } from '../../support/wire-message.ts';

const schema = {
  type: 'object',
  properties: { amount: { type: 'number', maximum: 10 } },
} as const;
const bank = new CatalogServer({ name: 'bank', tools: [{ name: 'pay', inputSchema: schema }] });
const harness = useGateway(() => ({
  servers: { checked: { ...bank.config, validateArguments: 'enforce' }, open: bank.config },
}));

const META = JSON.stringify({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
});
const paid = (): string[] =>
  bank.journal.messages('tools/call').map(({ raw }) => raw.slice(raw.indexOf('"arguments"')));

/** Calls with params as they stand. */
async function pay(era: Era, server: string, members: string): Promise<WireMessage> {
  const path = `/servers/${server}/mcp`;
  const meta = era === 'modern' ? `,"_meta":${META}` : '';
  const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay"${meta},${members}}}`;
  if (era === 'legacy') return (await sessionAt(harness, path)).post(body).answer(7);
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'pay',
  };
  return post(harness.gateway.url + path, body, headers).answer(7);
}

describe.each(ERAS)('a %s client', (era) => {
  it.each([
    '"arguments":{"amount":1000},"arguments":{"amount":1}',
    '"\\u0061rguments":{"amount":1000},"arguments":{"amount":1}',
    '"arguments":{"amount":1},"task":{},"task":{"ttl":1}',
    '"arguments":{"amount":1},"taskId":"a","taskId":"b"',
  ])('C01 sends no member of a call twice: %s', async (members) => {
    const before = paid();
    for (const server of ['checked', 'open']) {
      expect((await pay(era, server, members)).error?.code).toBe(-32_600);
    }
    expect(paid()).toEqual(before);
  });

  it.each([
    '"arguments":{"amount":1000,"amount":1}',
    '"arguments":{"\\u0061mount":1000,"amount":1}',
    '"arguments":{"amount":1,"to":[{"a":1,"a":2}]}',
  ])('C01 has no argument twice where arguments are checked: %s', async (members) => {
    const before = paid();
    const { error } = await pay(era, 'checked', members);
    expect(error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('two members of one name'),
    });
    expect(paid()).toEqual(before);
    // Where they are not, nobody looks into them.
    expect((await pay(era, 'open', members)).result).toBeDefined();
    expect(paid().at(-1)).toContain(members.replace('"arguments":', ''));
  });

  it('may pay what the schema allows, and no more', async () => {
    expect((await pay(era, 'checked', '"arguments":{"amount":1}')).result).toBeDefined();
    const { error } = await pay(era, 'checked', '"arguments":{"amount":1000}');
    expect(error?.code).toBe(-32_602);
  });
});
