// How the era of a server on stdio is found out, whatever it does when it is asked
// (2026-07-28 basic/transports/stdio, docs/protocol.md#stdio).
import { afterEach, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { ModernClient } from '../support/modern-client.ts';
import { fixtureServer, type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import { textOf } from '../support/wire-message.ts';

let gateway: Gateway | undefined;
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});

/** What a legacy and a modern client get of a server. */
async function calls(server: ScriptedServer): Promise<string[]> {
  gateway = await startGateway({ servers: { one: server.config } });
  const url = gateway.endpoint('one');
  const session = await LegacySession.open(url);
  const legacy = await session.call('echo', { era: 'legacy' });
  await session.close();
  const modern = new ModernClient(url);
  const answers = [legacy, await modern.call('echo', { era: 'modern' })];
  await modern.close();
  return answers.map(textOf);
}

const BOTH = ['{"era":"legacy"}', '{"era":"modern"}'];

describe('a legacy server', () => {
  it('GW-141: that ends on an unknown request', async () => {
    const server = scriptedServer({ args: ['--exit-on-unknown'] });
    expect(await calls(server)).toEqual(BOTH);
    expect(server.journal.messages('server/discover')).toHaveLength(1);
    expect(server.journal.messages('initialize')).toHaveLength(1);
    expect(server.journal.starts).toHaveLength(2);
  });

  it('GW-141: that answers with an error of its own', async () => {
    for (const code of [-32_601, -32_602, -32_600, -32_000]) {
      const server = scriptedServer({ args: ['--discover', String(code)] });
      expect(await calls(server), String(code)).toEqual(BOTH);
      expect(server.journal.starts).toHaveLength(1);
      expect(server.journal.messages('initialize')).toHaveLength(1);
      await gateway?.stop();
      gateway = undefined;
    }
  });

  it('GW-141: that says nothing', async () => {
    const server = scriptedServer({ args: ['--discover', 'silent'] });
    expect(await calls(server)).toEqual(BOTH);
    expect(server.journal.messages('initialize')).toHaveLength(1);
  });

  it('GW-141: that wants initialize first', async () => {
    const server = scriptedServer({ args: ['--strict'] });
    expect(await calls(server)).toEqual(BOTH);
    expect(server.journal.pidsOf('violation:initialize')).toEqual([]);
  });
});

describe('a modern server', () => {
  it('is never sent initialize', async () => {
    const server = fixtureServer('scripted-modern.ts');
    expect(await calls(server)).toEqual(BOTH);
    expect(server.journal.messages('initialize')).toEqual([]);
    expect(server.journal.messages('server/discover')).toHaveLength(1);
  });

  it('GW-142: nor is one of a version that is not ours', async () => {
    const server = fixtureServer('scripted-modern.ts', { args: ['--discover', '-32022'] });
    gateway = await startGateway({ servers: { one: server.config } });
    const modern = new ModernClient(gateway.endpoint('one'));
    const answer = await modern.call('echo');
    expect(answer.error).toMatchObject({ code: -32_603 });
    await modern.close();
    await expect(LegacySession.open(gateway.endpoint('one'))).rejects.toThrow();
    expect(server.journal.messages('initialize')).toEqual([]);
  });
});
