import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import { limits } from '../../lib/base/limits.ts';
import type { OutboundRequest } from '../../lib/outbound/request.ts';
import { around } from '../harness/around.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { type Answering, reply } from '../harness/endpoint.ts';
import { type EndpointScene, postWhole, startEndpointScene } from '../harness/endpoint-scene.ts';
import { type FullPort, fillPort } from '../harness/full-port.ts';
import { type Scene, until } from '../harness/scene.ts';
import { type Peer, type Site, startPeer, startSite } from '../harness/site.ts';

const message = { type: 'message', content: 'hi' };
const json = JSON.stringify(message);

/** Sends `text` a byte a second until the connection ends. */
const drip = (response: ServerResponse, text: string): void => {
  let sent = 0;
  const timer = setInterval(() => response.socket?.write(text.charAt(sent++) || ' '), 1_000);
  response.on('close', () => clearInterval(timer));
};
const raw =
  (text: string): Answering =>
  (_received, { socket }) =>
    void socket?.write(text);
const head = 'HTTP/1.1 200 OK\r\n';

describe('an endpoint that hangs', () => {
  const rows: readonly [at: string, by: Answering, status: number | null, reason: string][] = [
    ['before the headers', () => undefined, null, 'status: timed out'],
    ['after early hints', raw('HTTP/1.1 103 Early Hints\r\n\r\n'), null, 'status: timed out'],
    ['within the headers', raw(head), null, 'status: timed out'],
    ['at headers of a byte a second', (_received, response) => drip(response, `${head}\r\n${json}`), null, 'status: timed out'],
    ['before the body', raw(`${head}Content-Length: 9\r\n\r\n`), 200, 'body: timed out'],
    ['within the body', raw(`${head}Content-Length: 99\r\n\r\n${json}`), 200, 'body: timed out'],
    [
      'within the chunks',
      raw(`${head}Transfer-Encoding: chunked\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n`),
      200,
      'body: timed out',
    ],
    ['after a body without a length', raw(`${head}\r\n${json}`), 200, 'body: timed out'],
    [
      'at a body of a byte a second',
      (_received, response) => {
        response.writeHead(200, { 'content-length': String(json.length) }).flushHeaders();
        drip(response, json);
      },
      200,
      'body: timed out',
    ],
  ];
  let world: EndpointScene;
  let scene: Scene;
  let mute: Peer;
  let full: FullPort;
  const ids: Record<string, string> = {};
  before(async () => {
    mute = await startPeer(() => undefined);
    full = await fillPort();
    world = await startEndpointScene([mute.pair, `127.0.0.1:${full.port}`]);
    scene = world.scene;
    const { endpoint } = world;
    const deliveries: Promise<void>[] = [];
    const begin = async (at: string, reached: () => boolean): Promise<void> => {
      const id = await scene.use();
      ids[at] = id;
      await scene.age(id, 500);
      deliveries.push(world.post(id));
      await until(reached, `the request that hangs ${at}`);
    };
    // They hang together: each begins once the one before it has reached its endpoint.
    for (const [at, by] of rows) {
      endpoint.answer(by);
      const known = endpoint.received.length;
      await begin(at, () => endpoint.received.length > known);
    }
    await world.moveTo(`https://${mute.pair}/`);
    await begin('at TLS', () => mute.opened() === 1);
    await world.moveTo(`https://127.0.0.1:${full.port}/`);
    await begin('at the connection', () => true);
    await Promise.all(deliveries);
    for (const id of Object.values(ids)) await world.post(id);
  });
  after(async () => {
    full.close();
    await world.close();
    await mute.close();
  });

  it('gets one request on one connection', () => {
    const { site } = world.endpoint;
    const count = rows.length + 1; // the ping was the first
    expect([site.asked.length, site.opened(), mute.opened()]).to.deep.equal([count, count, 1]);
  });

  for (const [at, , status, reason] of [
    ...rows,
    ['at TLS', null, null, 'tls: timed out'] as const,
    ['at the connection', null, null, 'connect: timed out'] as const,
  ])
    it(`${at}: failed; the person sees that it expired, and a callback is too late`, async () => {
      const id = String(ids[at]);
      expect(await world.logged(id)).to.deep.equal([status, 'failed', reason]);
      await scene.age(id, limits.answerWindowMs);
      expect(await world.view(id)).to.include({ state: 'expired', messageId: null });
      expect(await scene.told(id)).to.deep.equal(['expired']);
      expect((await scene.send('callback', id, message)).body.code).to.equal('interaction_expired');
      expect(await scene.messages()).to.deep.equal([]);
    });
});

describe('an endpoint that cannot be reached', () => {
  let world: EndpointScene;
  let scene: Scene;
  let secure: Site;
  let closed: number;
  before(async () => {
    secure = await startSite((_request, response) => response.end(json), makeCertificate(['127.0.0.1']));
    closed = await freePort();
    world = await startEndpointScene([secure.pair, `127.0.0.1:${closed}`]);
    scene = world.scene;
  });
  after(async () => {
    await world.close();
    await secure.close();
  });

  const rows: readonly [what: string, url: () => string, reason: string][] = [
    ['a port on which nobody listens', () => `https://127.0.0.1:${closed}/`, 'connect: failed (ECONNREFUSED)'],
    ['a certificate that nobody vouches for', () => secure.url, 'tls: failed (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    ['plain http', () => 'http://example.com/', 'url: is not an https URL'],
    ['an address that is not public any more', () => `https://127.0.0.2:${secure.port}/`, 'url: is not a public address'],
  ];
  for (const [what, url, reason] of rows)
    it(`${what}: failed, left to the callback route`, async () => {
      await world.moveTo(url());
      const id = await scene.use();
      await world.post(id);
      expect(await world.logged(id)).to.deep.equal([null, 'failed', reason]);
      expect(secure.asked).to.deep.equal([]);
      expect((await scene.send('callback', id, message)).status).to.equal(201);
      expect(await scene.told(id)).to.deep.equal(['answered']);
    });
});

describe('the 3 seconds of an endpoint', () => {
  let world: EndpointScene;
  let scene: Scene;
  before(async () => {
    world = await startEndpointScene();
    scene = world.scene;
  });
  after(() => world.close());

  const posted = (): unknown[] => world.endpoint.received.map(({ json: sent }) => sent.id);
  /** Delivers, and answers the time that the request was given. */
  const timeGiven = async (id: string, now = Date.now): Promise<number> => {
    const asked: OutboundRequest[] = [];
    const outbound = (request: OutboundRequest) => {
      asked.push(request);
      return scene.worker.outbound(request);
    };
    await postWhole({ ...scene.worker, outbound, now }, id);
    return asked[0]?.timeoutMs ?? 0;
  };

  it('once they are over nothing is sent, and nothing is logged', async () => {
    const id = await scene.use();
    await scene.age(id, limits.answerWindowMs);
    await world.post(id);
    expect(posted()).not.to.include(id);
    expect(await world.logged(id)).to.equal(null);
  });

  it('what is left of them since the use, by the database’s clock, is given to the request', async () => {
    for (const shift of [-3_600_000, 0, 3_600_000]) {
      const id = await scene.use();
      await scene.age(id, 300);
      expect(await timeGiven(id, () => Date.now() + shift)).to.be.within(1, limits.answerWindowMs - 300);
      expect(posted()).to.include(id);
    }
  });

  it('what the worker itself takes counts too', async () => {
    const id = await scene.use();
    around(scene.worker, 'takeFlight', async (real) => {
      await pause(500);
      return real();
    });
    expect(await timeGiven(id)).to.be.within(1, 60_000 + limits.answerWindowMs - 500);
  });

  it('nothing is sent when that took them all', async () => {
    const id = await scene.use();
    await scene.age(id, 1_500);
    around(scene.worker, 'takeFlight', async (real) => {
      await pause(1_500);
      return real();
    });
    await world.post(id);
    expect(posted()).not.to.include(id);
    expect(await world.logged(id)).to.deep.equal([null, 'failed', 'the time was over before the request was sent']);
  });

  for (const body of [message, { ...message, ephemeral: true }, { type: 'defer' }])
    it(`${JSON.stringify(body)} that comes after them is not applied`, async () => {
      const id = await scene.use();
      world.endpoint.answer((received, response) => {
        void scene.age(id, limits.answerWindowMs).then(() => reply(200, body)(received, response));
      });
      await world.post(id);
      expect(await world.logged(id)).to.deep.equal([200, 'failed', 'interaction_expired: This interaction has expired.']);
      expect(await world.view(id)).to.include({ state: 'expired', messageId: null });
      expect(await scene.told(id)).to.deep.equal(['expired']);
      expect(await scene.messages()).to.deep.equal([]);
    });
});
