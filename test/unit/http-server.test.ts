import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { type Listening, listen } from '../../lib/base/http-server.ts';

describe('closing an HTTP server', () => {
  let responses: ServerResponse[];
  let server: Listening;
  beforeEach(async () => {
    responses = [];
    server = await listen(
      createServer({ keepAliveTimeout: 600_000 }, (_, response) => void responses.push(response)),
      0,
      '127.0.0.1',
    );
  });
  const connectSocket = async (): Promise<Socket> => {
    const socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
    await once(socket, 'connect');
    return socket;
  };
  /** Opens a connection and sends a request; resolves when the server handles it. */
  const sendRequest = async (): Promise<Socket> => {
    const socket = await connectSocket();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    for (const { length } = responses; responses.length === length; ) await new Promise(setImmediate);
    return socket;
  };

  it('does not wait for connections without a request, which browsers open in advance', async () => {
    const [unused, used] = [await connectSocket(), await sendRequest()];
    responses[0]?.end();
    await once(used, 'data');
    await Promise.all([once(unused.resume(), 'close'), once(used.resume(), 'close'), server.close()]);
  });

  it('finishes current responses, and closes connections after them', async () => {
    const socket = await sendRequest();
    const closed = server.close();
    responses[0]?.end('done');
    const [answer] = await once(socket, 'data');
    expect(answer)
      .to.match(/connection: close/i)
      .and.to.match(/done/);
    await Promise.all([once(socket.resume(), 'close'), closed]);
  });
});
