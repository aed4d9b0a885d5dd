import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { type Listening, listen } from '../../lib/base/http-server.ts';

describe('an HTTP server of ours that closes', () => {
  let asked: ServerResponse[];
  let door: Listening;
  beforeEach(async () => {
    asked = [];
    door = await listen(
      createServer({ keepAliveTimeout: 600_000 }, (_, response) => void asked.push(response)),
      0,
      '127.0.0.1',
    );
  });
  const opened = async (): Promise<Socket> => {
    const socket = connect(door.port, '127.0.0.1').setEncoding('utf8');
    await once(socket, 'connect');
    return socket;
  };
  /** A connection whose request the server has begun. */
  const busy = async (): Promise<Socket> => {
    const socket = await opened();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    for (const { length } = asked; asked.length === length; ) await new Promise(setImmediate);
    return socket;
  };

  it('does not wait for connections that brought no request, as browsers open them ahead of need', async () => {
    const [unused, used] = [await opened(), await busy()];
    asked[0]?.end();
    await once(used, 'data');
    await Promise.all([once(unused.resume(), 'close'), once(used.resume(), 'close'), door.close()]);
  });

  it('answers what it was asked, and lets no connection bring another request', async () => {
    const socket = await busy();
    const closed = door.close();
    asked[0]?.end('done');
    const [answer] = await once(socket, 'data');
    expect(answer)
      .to.match(/connection: close/i)
      .and.to.match(/done/);
    await Promise.all([once(socket.resume(), 'close'), closed]);
  });
});
