// Preloaded into peers that cannot be told where to listen: whatever they ask for, it becomes loopback.
import { Server } from 'node:net';

const listen = Server.prototype.listen;

Server.prototype.listen = function listenOnLoopback(this: Server, ...args: unknown[]): Server {
  const [first, ...rest] = args;
  const options = typeof first === 'object' && first !== null ? first : { port: first };
  const callback = rest.find((argument) => typeof argument === 'function');
  return Reflect.apply(listen, this, [{ ...options, host: '127.0.0.1' }, callback]) as Server;
};
