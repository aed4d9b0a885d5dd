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

/**
 * Resolves when a loopback port or a unix socket accepts a connection and, if `request` is given, sends a response that begins with `answer`. Rejects within
 * 500 ms.
 */
export function probe(at: number | string, request?: string, answer = ''): Promise<void> {
  return new Promise((done, failed) => {
    const socket = typeof at === 'number' ? connect(at, '127.0.0.1') : connect(at);
    let answered = '';
    const finish = (error?: Error) => {
      socket.destroy();
      if (error) failed(error);
      else done();
    };
    socket.setTimeout(answerMs, () => finish(new Error('no answer')));
    socket.once('error', finish);
    socket.once('close', () => finish(new Error('closed')));
    socket.once('connect', () => {
      if (request) socket.write(request);
      else finish();
    });
    socket.on('data', (data) => {
      answered += data.toString();
      if (answered.startsWith(answer)) finish();
      else if (!answer.startsWith(answered)) finish(new Error(answered.trim()));
    });
  });
}
