// Clients that vanished without a word: what the system still has for them, and what becomes of them.
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { SseWriter } from '../../../src/listener/sse-writer.ts';
import { addressInTable, Unacknowledged } from '../../../src/listener/unacknowledged.ts';
import { until } from '../../support/until.ts';

describe('an address in the tables of the system', () => {
  it.each([
    ['127.0.0.1', '0100007F'],
    ['::ffff:192.168.1.2', '0201A8C0'],
    ['::1', '00000000000000000000000001000000'],
    ['fe80::1%eth0', '000080FE000000000000000001000000'],
    ['2001:db8:1:2:3:4:5:6', 'B80D0120020001000400030006000500'],
  ])('%s is %s', (address, text) => {
    expect(addressInTable(address)).toBe(text);
  });
});

describe('what is not acknowledged', () => {
  const ends = { remoteAddress: '::ffff:10.0.0.7', remotePort: 0xbeef, localPort: 8080 };

  it('is read from either table, for the connection with these ends', async () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt',
      '   0: 0000000000000000FFFF00000100000A:1F90 0000000000000000FFFF00000700000A:BEEF 01 00000015:00000000 01:00000A 00000003',
      '   1: 0100000A:1F90 0800000A:BEEF 01 00000000:00000015 00:00000000 00000000',
      '  12: 0100000A:1F90 0800000A:BEF0 01 00000100:00000000 00:00000000 00000000',
    ];
    const seen = new Unacknowledged((path) =>
      path.endsWith('6') ? Promise.resolve(table.join('\n')) : Promise.reject(new Error('no')),
    );
    expect(seen.of(ends)).toBe(0);
    await seen.look();
    expect(seen.of(ends)).toBe(0x15);
    expect(seen.of({ ...ends, remoteAddress: '10.0.0.7' })).toBe(0x15);
    expect(seen.of({ ...ends, remoteAddress: '10.0.0.8' })).toBe(0);
    expect(seen.of({ ...ends, remoteAddress: '10.0.0.8', remotePort: 0xbef0 })).toBe(0x100);
    expect(seen.of({ ...ends, localPort: 8081 })).toBe(0);
  });

  it.runIf(process.platform === 'linux')(
    'is seen of a real client that takes nothing',
    async () => {
      let peer: Socket | undefined;
      const server = createServer((socket) => {
        peer = socket.on('error', () => undefined);
      });
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      const address = server.address() as { readonly port: number };
      // Nobody reads what comes.
      const client = connect(address.port, '127.0.0.1').pause();
      const socket = await until(() => peer);
      const seen = new Unacknowledged();
      await seen.look();
      expect(seen.of(socket)).toBe(0);
      socket.write(Buffer.alloc(32 * 1024 * 1024));
      await until(async () => {
        await seen.look();
        return seen.of(socket) > 0;
      });
      client.destroy();
      socket.destroy();
      server.close();
    },
  );
});

/** A response whose connection can be looked at. */
class FakeResponse extends EventEmitter {
  readonly socket = { bytesWritten: 1_000 };
  writableLength = 0;
  destroyed = false;
  writeHead = vi.fn();
  flushHeaders = vi.fn();
  readonly write = vi.fn((bytes: Buffer) => {
    this.socket.bytesWritten += bytes.length;
    return true;
  });
  readonly destroy = vi.fn(() => this.emit('close'));
}

describe('a stream', () => {
  const open = (): { response: FakeResponse; writer: SseWriter; slow: () => void } => {
    const response = new FakeResponse();
    const slow = vi.fn();
    const writer = new SseWriter(
      response as unknown as ServerResponse,
      {},
      {
        held: new HeldBytes({ limitBytes: 1e9, shareBytes: 1e9 }),
        principal: { key: 'a' },
        slow,
        closed: () => undefined,
      },
    );
    return { response, writer, slow };
  };

  it('whose client acknowledges nothing any more is cut in less than a minute', () => {
    const { response, writer, slow } = open();
    writer.keepAlive(0, 0);
    for (let ms = 10_000; ms <= 40_000; ms += 10_000) {
      expect(response.destroy).not.toHaveBeenCalled();
      writer.keepAlive(ms, response.socket.bytesWritten - 1_000);
    }
    expect(response.destroy).toHaveBeenCalledTimes(1);
    expect(slow).toHaveBeenCalledTimes(1);
  });

  it('whose client takes something, however slowly, goes on', () => {
    const { response, writer } = open();
    for (let ms = 0; ms <= 600_000; ms += 10_000) {
      response.socket.bytesWritten += 10;
      writer.keepAlive(ms, 5_000);
      response.socket.bytesWritten -= 14; // what its comment was
    }
    expect(response.destroy).not.toHaveBeenCalled();
  });
});
