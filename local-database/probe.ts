import { connect } from 'node:net';
import { serialize } from 'bson';

const responseMs = 500;

/** Resolves when the gateway behind a unix socket responds to a command. Rejects within 500 ms. */
export function probeGateway(path: string): Promise<void> {
  const body = serialize({ ping: 1, $db: 'admin' });
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(2013, 12);
  return new Promise((done, failed) => {
    const socket = connect(path, () => socket.write(Buffer.concat([head, body])));
    const fail = (reason: string) => {
      socket.destroy();
      failed(new Error(reason));
    };
    socket.setTimeout(responseMs, () => fail('no response'));
    socket.once('error', ({ message }) => fail(message));
    socket.once('close', () => fail('the connection was closed'));
    socket.once('data', () => {
      done();
      socket.destroy();
    });
  });
}
