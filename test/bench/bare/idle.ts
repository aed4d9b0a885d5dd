import { WebSocketServer } from 'ws';

// Accepts sockets and does nothing else, to measure the minimum memory of a connection.
const server = new WebSocketServer({ port: Number(process.env.PORT), host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => socket.on('message', () => undefined));
process.on('message', () => {
  process.send?.({ rss: process.memoryUsage().rss, clients: server.clients.size });
});
process.send?.('ready');
