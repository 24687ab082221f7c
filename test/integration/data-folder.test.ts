/** The data folder of real processes: one at a time, also after a kill. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';

function start(data: string, env: Readonly<Record<string, string>> = {}): Promise<Gateway> {
  const servers = { one: scriptedServer().config };
  const config = data === '' ? {} : { data };
  return startGateway({ servers, config, env, ownProcess: true });
}

describe('the data folder of a process', () => {
  it('is refused to a second one with the pid of the first, and free after a kill', async () => {
    const data = join(tempDir(), 'data');
    const first = await start(data);
    await expect(start(data)).rejects.toThrow(`which process ${first.pid} uses`);
    expect(first.isRunning).toBe(true);
    await first.kill();
    const second = await start('', { SLUICE_DATA: data });
    expect(readFileSync(join(data, 'pid'), 'utf8')).toBe(`${second.pid}\n`);
    expect(await second.stop()).toEqual({ code: 0, signal: null });
  });

  it('is had by one of several that start at once after a kill', async () => {
    const data = join(tempDir(), 'data');
    await (await start(data)).kill();
    const started = await Promise.allSettled([start(data), start(data), start(data)]);
    const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(running).toHaveLength(1);
    await Promise.all(running.map((gateway) => gateway.stop()));
  });
});
