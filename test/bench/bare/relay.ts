import { Redis } from 'ioredis';
import { WebSocketServer } from 'ws';

// The minimum work for a publication: send it to every socket.
const server = new WebSocketServer({ port: Number(process.env.PORT), host: '127.0.0.1', perMessageDeflate: false });
const redis = new Redis(String(process.env.REDIS_URL));
redis.on('messageBuffer', (_channel: Buffer, message: Buffer) => {
  for (const client of server.clients) client.send(message, { binary: false });
});
// On request, sends `frames` frames of `bytes` bytes to every socket, a few in each turn of the event loop so that the sockets drain.
process.on('message', ({ frames, bytes }: { frames: number; bytes: number }) => {
  const frame = Buffer.alloc(bytes, 'x');
  let left = frames;
  const turn = (): void => {
    for (let i = 0; i < 4 && left > 0; i++, left--) for (const client of server.clients) client.send(frame, { binary: false });
    if (left > 0) setImmediate(turn);
    else process.send?.('sent');
  };
  turn();
});
await redis.subscribe('bare');
process.send?.('ready');
