import { connect, type Socket } from 'node:net';

/** How many sockets flood `port`; 0 stops the flood. */
export interface FloodAsk {
  port: number;
  sockets: number;
}

// WebSocket clients that never identify and send empty pongs as fast as the gateway reads them. A closed client reconnects.
const handshake =
  'GET /gateway HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
const pongs = Buffer.from('8a8000000000'.repeat(2_000), 'hex');
const open = new Set<Socket>();
let asked: FloodAsk = { port: 0, sockets: 0 };

function flood(): void {
  const socket = connect(asked.port, '127.0.0.1');
  open.add(socket);
  const write = (): void => {
    while (!socket.destroyed && asked.sockets > 0 && socket.write(pongs));
  };
  socket.on('error', () => undefined);
  socket.once('data', write);
  socket.on('drain', () => setImmediate(write));
  socket.resume();
  socket.once('close', () => {
    open.delete(socket);
    setTimeout(() => asked.sockets > open.size && flood(), 10);
  });
  socket.write(handshake);
}

process.on('message', (ask: FloodAsk) => {
  asked = ask;
  for (let n = 0; n < ask.sockets; n++) flood();
  if (ask.sockets === 0) for (const socket of open) socket.destroy();
  process.send?.('done');
});
process.send?.('ready');
