import { connect, type Socket } from 'node:net';
import { type Document, deserialize, serialize } from 'bson';
import { expect } from 'chai';
import { parseCommand } from '../command.ts';
import { FrameReader } from '../frames.ts';
import { startWireGateway, type WireGateway } from '../server.ts';
import { openDatabase, type TestDatabase } from './database.ts';

/** Encodes an OP_MSG with this body. */
function message(body: Document, { flags = 0, id = 7, checksum = false } = {}): Buffer {
  const document = serialize(body);
  const head = Buffer.alloc(21);
  head.writeInt32LE(21 + document.length + (checksum ? 4 : 0), 0);
  head.writeInt32LE(id, 4);
  head.writeInt32LE(2013, 12);
  head.writeUInt32LE(flags | (checksum ? 1 : 0), 16);
  return Buffer.concat([head, document, Buffer.alloc(checksum ? 4 : 0)]);
}

/** Encodes an OP_QUERY, which drivers use for their first command. */
function legacyQuery(body: Document): Buffer {
  const rest = Buffer.concat([Buffer.alloc(4), Buffer.from('admin.$cmd\0'), Buffer.alloc(8), serialize(body)]);
  const head = Buffer.alloc(16);
  head.writeInt32LE(16 + rest.length, 0);
  head.writeInt32LE(9, 4);
  head.writeInt32LE(2004, 12);
  return Buffer.concat([head, rest]);
}

/** Sends bytes. Resolves after this many replies, or with fewer if the gateway closes the connection. */
function exchange(port: number, send: (socket: Socket) => void, replies: number): Promise<{ replies: Document[]; isClosed: boolean }> {
  return new Promise((done, failed) => {
    const socket = connect(port, '127.0.0.1', () => send(socket));
    const seen: Document[] = [];
    const reader = new FrameReader(4, (chunk, at) => chunk.readInt32LE(at));
    socket.on('data', (chunk: Buffer) =>
      reader.push(chunk, (frame) => {
        seen.push({ to: frame.readInt32LE(8), ...deserialize(frame.subarray(frame.readInt32LE(12) === 1 ? 36 : 21)) });
        if (seen.length === replies) {
          socket.destroy();
          done({ replies: seen, isClosed: false });
        }
      }),
    );
    socket.on('error', failed);
    socket.on('close', () => done({ replies: seen, isClosed: true }));
  });
}

describe('the wire protocol', () => {
  let database: TestDatabase;
  let gateway: WireGateway;
  before(async () => {
    database = await openDatabase();
    gateway = await startWireGateway({ socketDir: database.socketDir });
  });
  after(async () => {
    await gateway.close();
    await database.close();
  });

  it('answers hello and ismaster as a replica set of one node with wire version 21', async () => {
    const me = `127.0.0.1:${gateway.port}`;
    const { replies } = await exchange(
      gateway.port,
      (s) => s.write(Buffer.concat([legacyQuery({ ismaster: 1, helloOk: true }), message({ hello: 1, $db: 'admin' })])),
      2,
    );
    expect(replies[0]).to.deep.include({ to: 9, ok: 1, ismaster: true, setName: 'rs0', hosts: [me], me, maxWireVersion: 21 });
    expect(replies[1]).to.deep.include({ to: 7, ok: 1, isWritablePrimary: true, setName: 'rs0', hosts: [me], me, maxWireVersion: 21 });
    expect(gateway.url).to.match(/directConnection=true&retryWrites=false$/);
  });

  it('accepts a message that arrives byte by byte, with a checksum', async () => {
    const bytes = message({ ping: 1, $db: 'admin' }, { checksum: true });
    const { replies } = await exchange(
      gateway.port,
      (s) => {
        for (const byte of bytes) s.write(Buffer.of(byte));
      },
      1,
    );
    expect(replies).to.deep.equal([{ to: 7, ok: 1 }]);
  });

  it('sends no reply if the client wants none, and keeps the order', async () => {
    const insert = message({ insert: 'quiet', documents: [{ _id: 1 }], $db: 'test' }, { flags: 2, id: 1 });
    const { replies } = await exchange(
      gateway.port,
      (s) => s.write(Buffer.concat([insert, message({ count: 'quiet', $db: 'test' }, { id: 2 })])),
      1,
    );
    expect(replies[0]).to.include({ to: 2, n: 1 });
  });

  it('removes the fields of sessions, time limits and API versions', async () => {
    const sessionFields = {
      lsid: { id: 1 },
      txnNumber: 1,
      $clusterTime: { x: 1 },
      $readPreference: { mode: 'primary' },
      recoveryToken: {},
      maxTimeMS: 5000,
      apiVersion: '1',
      apiStrict: true,
      apiDeprecationErrors: true,
    };
    const body = { insert: 'stripped', documents: [{ _id: 1 }], $db: 'test' };
    expect(deserialize(parseCommand(Buffer.from(serialize({ ...body, ...sessionFields })), undefined).spec)).to.deep.equal(body);
    const { replies } = await exchange(gateway.port, (s) => s.write(message({ ...body, ...sessionFields })), 1);
    expect(replies[0]).to.include({ ok: 1, n: 1 });
  });

  const invalid: [what: string, bytes: Buffer][] = [
    [
      'a message of more than 48 MB',
      (() => {
        const head = Buffer.alloc(16);
        head.writeInt32LE(48_000_001);
        return head;
      })(),
    ],
    ['a negative length', Buffer.from([255, 255, 255, 255])],
    ['another protocol', Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
    [
      'an unknown operation',
      (() => {
        const m = message({ ping: 1 });
        m.writeInt32LE(2012, 12);
        return m;
      })(),
    ],
    [
      'a section longer than its message',
      (() => {
        const m = message({ ping: 1 });
        m.writeInt32LE(4000, 21);
        return m;
      })(),
    ],
  ];
  for (const [what, bytes] of invalid)
    it(`closes the connection on ${what}, and serves other clients`, async () => {
      expect(await exchange(gateway.port, (s) => s.write(bytes), 1)).to.deep.equal({ replies: [], isClosed: true });
      expect((await exchange(gateway.port, (s) => s.write(message({ ping: 1, $db: 'admin' })), 1)).replies).to.have.length(1);
    });

  it('answers malformed BSON in a whole message with code 22', async () => {
    const bytes = message({ find: 'x', filter: { a: 1 }, $db: 'test' });
    bytes[bytes.indexOf('filter') - 1] = 0x55;
    expect((await exchange(gateway.port, (s) => s.write(bytes), 1)).replies[0]).to.include({ ok: 0, code: 22 });
  });
});
