import { connect, createServer } from 'node:net';

const answerMs = 500;

/** A free port of the loopback address. */
export function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Resolves when a loopback port accepts a connection and, with `say`, answers it with a text that begins with `hear`. Rejects within 500 ms. */
export function probePort(port: number, say?: string, hear = ''): Promise<void> {
  return new Promise((done, failed) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (error?: Error) => {
      socket.destroy();
      if (error) failed(error);
      else done();
    };
    socket.setTimeout(answerMs, () => finish(new Error('no answer')));
    socket.once('error', finish);
    socket.once('close', () => finish(new Error('closed')));
    socket.once('connect', () => {
      if (say) socket.write(say);
      else finish();
    });
    socket.once('data', (data) => finish(data.toString().startsWith(hear) ? undefined : new Error(data.toString().trim())));
  });
}
