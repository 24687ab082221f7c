// A channel that logs what passes, put around another one where `log.messages` asks for it: the path
// of messages knows nothing of it otherwise.
import { scan } from '../jsonrpc/scan.ts';
import type { MessageLine, MessageLog } from '../observe/message-log.ts';
import type { OpenChannel, ServerChannel } from './server-channel.ts';

/** Opens channels that log their messages. */
export function logged(open: OpenChannel, log: MessageLog): OpenChannel {
  return (options, parts) => {
    const server = options.name;
    const note = (direction: MessageLine['direction'], bytes: Buffer): void => {
      const { kind, method, idBytes } = scan(bytes, { anyParams: true });
      const id = idBytes?.toString('utf8');
      log.log({ direction, kind, method: method || undefined, id, bytes }, { server });
    };
    const { events } = parts;
    const received = (message: Buffer, about?: number): boolean => {
      note('from_server', message);
      return events.received(message, about);
    };
    const channel = open(options, { ...parts, events: { ...events, received } });
    const send: ServerChannel['send'] = (message, from) => {
      note('to_server', message);
      return channel.send(message, from);
    };
    return {
      get pid() {
        return channel.pid;
      },
      get lastStderrLine() {
        return channel.lastStderrLine;
      },
      get program() {
        return channel.program ?? '';
      },
      get isWritable() {
        return channel.isWritable;
      },
      send,
      close: () => channel.close(),
    } satisfies ServerChannel;
  };
}
