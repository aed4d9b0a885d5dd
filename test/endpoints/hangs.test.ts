import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import { limits } from '../../lib/base/limits.ts';
import type { OutboundRequest } from '../../lib/outbound/request.ts';
import { makeCertificate } from '../harness/certificate.ts';
import type { Answering } from '../harness/endpoint.ts';
import { postWhole, useEndpointFixture } from '../harness/endpoint-fixture.ts';
import { fillPort } from '../harness/full-port.ts';
import { type ReceivedEvent, waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { startPeer, startSite } from '../harness/site.ts';
import { make, use } from '../harness/use.ts';

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

describe('Interactions Endpoint: an endpoint that hangs', () => {
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
  const mute = use(() => startPeer(() => undefined));
  const full = use(fillPort);
  const { endpointFixture, fixture } = useEndpointFixture(() => [mute.pair, `127.0.0.1:${full.port}`]);
  const ids: Record<string, string> = {};
  /** What the person received when the time of the requests was over. */
  let received: ReceivedEvent[] = [];
  before(async () => {
    const { endpoint } = endpointFixture;
    const deliveries: Promise<void>[] = [];
    const begin = async (at: string, reached: () => boolean): Promise<void> => {
      const id = await fixture.use();
      ids[at] = id;
      await fixture.age(id, 500);
      deliveries.push(endpointFixture.post(id));
      await waitUntil(reached, `the request that hangs ${at}`);
    };
    // All requests hang at the same time. Each one starts when the previous one has reached the endpoint.
    for (const [at, by] of rows) {
      endpoint.answer(by);
      const known = endpoint.received.length;
      await begin(at, () => endpoint.received.length > known);
    }
    await endpointFixture.moveTo(`https://${mute.pair}/`);
    await begin('at TLS', () => mute.opened() === 1);
    await endpointFixture.moveTo(`https://127.0.0.1:${full.port}/`);
    await begin('at the connection', () => true);
    await Promise.all(deliveries);
    for (const id of Object.values(ids)) await endpointFixture.post(id);
    await waitUntil(() => Object.values(ids).every((id) => fixture.personal.some(({ data }) => data.id === id)), 'the ends');
    received = fixture.personal.splice(0);
  });

  it('sends one request on one connection each', () => {
    const { site } = endpointFixture.endpoint;
    const count = rows.length + 1; // the ping was the first
    expect([site.asked.length, site.opened(), mute.opened()]).to.deep.equal([count, count, 1]);
  });

  for (const [at, , status, reason] of [
    ...rows,
    ['at TLS', null, null, 'tls: timed out'] as const,
    ['at the connection', null, null, 'connect: timed out'] as const,
  ])
    it(`${at}: the delivery fails, the interaction expires and a callback is too late`, async () => {
      const id = String(ids[at]);
      expect(await endpointFixture.logged(id)).to.deep.equal([status, 'failed', reason]);
      await fixture.age(id, limits.answerWindowMs);
      expect(await endpointFixture.view(id)).to.include({ state: 'expired', messageId: null });
      const ends = received.flatMap(({ data }) => (data.id === id && data.state === 'expired' ? ['expired'] : []));
      expect([...ends, ...(await fixture.relayedStates(id))]).to.deep.equal(['expired']);
      expect((await fixture.send('callback', id, message)).body.code).to.equal('interaction_expired');
      expect(await fixture.messages()).to.deep.equal([]);
    });
});

describe('Interactions Endpoint: an endpoint that cannot be reached', () => {
  const secure = use(async () => startSite((_request, response) => response.end(json), await makeCertificate(['127.0.0.1'])));
  const closed = make(async () => ({ port: await freePort() }));
  const { endpointFixture, fixture } = useEndpointFixture(() => [secure.pair, `127.0.0.1:${closed.port}`]);

  const rows: readonly [what: string, url: () => string, reason: string][] = [
    ['a closed port', () => `https://127.0.0.1:${closed.port}/`, 'connect: failed (ECONNREFUSED)'],
    ['a self-signed certificate', () => secure.url, 'tls: failed (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    ['plain http', () => 'http://example.com/', 'url: is not an https URL'],
    [
      'an address that is no longer public',
      () => `https://127.0.0.2:${secure.port}/`,
      'url: is not a public address; for development, an operator can allow it by OUTBOUND_ALLOW=127.0.0.2:PORT',
    ],
  ];
  for (const [what, url, reason] of rows)
    it(`${what}: the delivery fails and a callback can answer`, async () => {
      await endpointFixture.moveTo(url());
      const id = await fixture.use();
      await endpointFixture.post(id);
      expect(await endpointFixture.logged(id)).to.deep.equal([null, 'failed', reason.replace('PORT', String(secure.port))]);
      expect(secure.asked).to.deep.equal([]);
      expect((await fixture.send('callback', id, message)).status).to.equal(201);
      expect(await fixture.relayedStates(id)).to.deep.equal(['endpoint failed', 'answered']);
    });
});

describe('Interactions Endpoint: the 3 seconds', () => {
  const { endpointFixture, fixture } = useEndpointFixture();

  const posted = (): unknown[] => endpointFixture.endpoint.received.map(({ json: sent }) => sent.id);
  /** Posts the interaction and returns the timeout of the request. */
  const timeoutOf = async (id: string, now = Date.now): Promise<number> => {
    const asked: OutboundRequest[] = [];
    const outbound = (request: OutboundRequest) => {
      asked.push(request);
      return fixture.worker.outbound(request);
    };
    await postWhole({ ...fixture.worker, outbound, now }, id);
    return asked[0]?.timeoutMs ?? 0;
  };

  it('gives the request the time that is left since the use, by the database’s clock', async () => {
    for (const shift of [-3_600_000, 0, 3_600_000]) {
      const id = await fixture.use();
      await fixture.age(id, 300);
      expect(await timeoutOf(id, () => Date.now() + shift)).to.be.within(1, limits.answerWindowMs - 300);
      expect(posted()).to.include(id);
    }
  });

  it('subtracts the time that the worker needs', async () => {
    const id = await fixture.use();
    interceptNext(fixture.worker, 'acquireRequestSlot', async (real) => {
      await pause(500);
      return real();
    });
    expect(await timeoutOf(id)).to.be.within(1, 60_000 + limits.answerWindowMs - 500);
  });

  it('sends nothing when the worker needed all of the time', async () => {
    const id = await fixture.use();
    await fixture.age(id, 1_500);
    interceptNext(fixture.worker, 'acquireRequestSlot', async (real) => {
      await pause(1_500);
      return real();
    });
    await endpointFixture.post(id);
    expect(posted()).not.to.include(id);
    expect(await endpointFixture.logged(id)).to.deep.equal([null, 'failed', 'the 3 seconds were over before the request could be sent']);
  });
});
