import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';

const responseMs = 500;

// Below the ranges from which Linux (32768) and macOS (49152) take the ports of outgoing connections: such a connection could take the port before its server does.
const firstPort = 12_000;
const ports = 20_000;
// Processes that look for ports at the same time begin at different ones.
let next = randomInt(ports);

/** A free port of the loopback address. No other process gets it before this one ends. Rejects if none of 100 ports is free. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = firstPort + (next++ % ports);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
  throw new Error(`no free port near ${firstPort + (next % ports)}`);
}

/** Reserves a port among the processes that look for one: this process holds the UDP port of the same number, which no server uses, until it ends. */
function reserve(port: number): Promise<boolean> {
  return new Promise((done) => {
    const reservation = createSocket('udp4').unref();
    reservation.once('error', () => done(false));
    reservation.bind({ port, address: '127.0.0.1', exclusive: true }, () => done(true));
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}

/**
 * Resolves when a loopback port or a unix socket accepts a connection and, if `request` is given, sends data that begins with `response`. Rejects within
 * 500 ms.
 */
export function probe(at: number | string, request?: string, response = ''): Promise<void> {
  return new Promise((done, failed) => {
    const socket = typeof at === 'number' ? connect(at, '127.0.0.1') : connect(at);
    let received = '';
    const finish = (error?: Error) => {
      socket.destroy();
      if (error) failed(error);
      else done();
    };
    socket.setTimeout(responseMs, () => finish(new Error('no response')));
    socket.once('error', finish);
    socket.once('close', () => finish(new Error('the connection was closed')));
    socket.once('connect', () => {
      if (request) socket.write(request);
      else finish();
    });
    socket.on('data', (data) => {
      received += data.toString();
      if (received.startsWith(response)) finish();
      else if (!response.startsWith(received)) finish(new Error(received.trim()));
    });
  });
}
