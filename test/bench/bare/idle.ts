import { WebSocketServer } from 'ws';

// Holds sockets and does nothing: what a connection costs in memory at the least.
const server = new WebSocketServer({ port: Number(process.env.PORT), host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => socket.on('message', () => undefined));
process.on('message', () => {
  process.send?.({ rss: process.memoryUsage().rss, clients: server.clients.size });
});
process.send?.('ready');
