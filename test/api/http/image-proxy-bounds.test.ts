import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { createSendLimiter } from '../../../apps/api/middleware/images.ts';
import type { Refusal } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { createImageProxy } from '../../../lib/domain/files/image-proxy.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { startPeer, startSite } from '../../harness/site.ts';
import { use } from '../../harness/use.ts';
import { type BinaryAnswer, pngOfBytes, samples, startImageProxyFixture } from './image-proxy-fixture.ts';

const statuses = async (answers: readonly Promise<BinaryAnswer>[]): Promise<number[]> =>
  (await Promise.all(answers)).map(({ status }) => status);
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

describe('limits of the image proxy', () => {
  const other = use(() => startSite((_request, response) => void response.end(samples.png)));
  const unreachable = use(() => startPeer((socket) => socket.destroy()));
  const fixture = use(() =>
    startImageProxyFixture(
      ({ url = '' }, response) => {
        if (url.includes('gone')) response.writeHead(404).end();
        else if (url.includes('redirect')) response.writeHead(302, { location: `https://${unreachable.pair}/x` }).end();
        else response.end(url.includes('large') ? pngOfBytes(7_000_000) : samples.png);
      },
      [unreachable.pair, other.pair],
    ),
  );
  beforeEach(() => {
    fixture.site.asked.length = 0;
    fixture.held.length = 0;
  });

  /** Runs `act` with the clock of the process `ms` ahead. */
  const later = async (ms: number, act: () => Promise<void>): Promise<void> => {
    const { platform } = fixture.api;
    const { now } = platform;
    platform.now = () => now() + ms;
    await act().finally(() => {
      platform.now = now;
    });
  };
  const answerAll = (): void => {
    for (const { answer } of fixture.held.splice(0)) answer();
  };

  it('twenty requests for one image at once make one request to its host', async () => {
    const asking = times(20, (at) => fixture.image('/held/same', `192.0.2.${at}`));
    await waitUntil(() => fixture.held.length === 1, 'the request');
    await fixture.image('/after');
    answerAll();
    expect(await statuses(asking)).to.deep.equal(times(20, () => 200));
    expect(fixture.site.asked.filter((path) => path === '/held/same')).to.have.length(1);
  });

  it('an image is cached for an hour, a large one is not', async () => {
    for (const path of ['/kept', '/kept', '/large', '/large']) expect((await fixture.image(path)).status).to.equal(200);
    await later(limits.imageProxyCachedMs - 60_000, async () => void (await fixture.image('/kept')));
    expect(fixture.site.asked).to.deep.equal(['/kept', '/large', '/large']);
    await later(limits.imageProxyCachedMs + 60_000, async () => void (await fixture.image('/kept')));
    expect(fixture.site.asked).to.have.length(4);
  });

  it('a URL without an image is requested again only after a minute', async () => {
    for (const ms of [0, 0, 55_000, 65_000]) await later(ms, async () => void expect((await fixture.image('/gone')).status).to.equal(404));
    expect(fixture.site.asked).to.deep.equal(['/gone', '/gone']);
  });

  it('an unreachable host is not requested again for a minute; a host that redirects to it is', async () => {
    const ask = async (path: string): Promise<void> => {
      expect((await fixture.get(fixture.pathOf(`https://${unreachable.pair}${path}`))).status).to.equal(404);
    };
    await fixture.image('/redirect');
    expect((await fixture.image('/beside')).status).to.equal(200);
    const before = unreachable.opened();
    await ask('/a');
    await ask('/b');
    expect(unreachable.opened()).to.equal(before + 1);
    await later(65_000, () => ask('/c'));
    expect(unreachable.opened()).to.equal(before + 2);
  });

  /** Calls the proxy directly, so that the order of the requests is certain. `clock.ahead` moves its clock. */
  const startProxy = () => {
    const { outbound, log } = fixture.api.platform;
    const clock = { ahead: 0 };
    const proxy = createImageProxy({ outbound, log, now: () => Date.now() + clock.ahead });
    const image = (path: string, caller: string): Promise<string> =>
      proxy(path.startsWith('/') ? fixture.site.url + path : path, caller).then(
        ({ contentType }) => contentType,
        (refusal: Refusal) => `${refusal.code} ${refusal.extra.retryAfter}`,
      );
    return { clock, image };
  };

  it('at most 16 requests at once, half of them for one caller and a third to one host: others do not wait', async () => {
    const { image } = startProxy();
    const asking = times(12, (at) => image(`/held/a${at}`, 'a'));
    await waitUntil(() => fixture.held.length === 6, 'six requests');
    for (const caller of ['b', 'c']) asking.push(...times(12, (at) => image(`/held/${caller}${at}`, caller)));
    for (const caller of ['a', 'b', 'c', 'd']) expect(await image(`${other.url}/${caller}`, caller)).to.equal('image/png');
    expect(fixture.held.map(({ path }) => path.slice(0, 7))).to.deep.equal(times(6, () => '/held/a'));
    answerAll();
    await waitUntil(() => fixture.held.length === 6, 'the next requests');
    const next = fixture.held.map(({ path }) => path.slice(6, 7));
    expect(next.toSorted()).to.deep.equal(['a', 'a', 'b', 'b', 'c', 'c']);
    await waitUntil(() => {
      expect(fixture.held.length).to.be.at.most(6);
      answerAll();
      return fixture.site.asked.length === 36;
    }, 'the rest');
    answerAll();
    await Promise.all(asking);
    expect(new Set(fixture.site.asked).size).to.equal(36);
  });

  it('503 when too many requests of a caller wait', async () => {
    const { image } = startProxy();
    const asking = times(6 + limits.imageProxyWaitingPerCaller, (at) => image(`/held/w${at}`, 'a'));
    await waitUntil(() => fixture.held.length === 6, 'six requests');
    expect(await image('/one-more', 'a')).to.equal('unavailable 2');
    await waitUntil(() => {
      answerAll();
      return fixture.site.asked.length === asking.length;
    }, 'the rest');
    answerAll();
    await Promise.all(asking);
  });

  it('503 with Retry-After for a request that waited 10 s', async () => {
    const { image, clock } = startProxy();
    const asking = times(6, (at) => image(`/held/w${at}`, 'a'));
    const [ninth, late] = [image('/ninth', 'a'), image('/late', 'a')];
    await waitUntil(() => fixture.held.length === 6, 'six requests');
    clock.ahead = limits.imageProxyWaitMs + 5_000;
    const soon = image('/soon', 'a');
    answerAll();
    expect(await Promise.all([ninth, late, soon])).to.deep.equal(['unavailable 2', 'unavailable 2', 'image/png']);
    expect(fixture.site.asked).to.include('/soon').and.not.include('/ninth');
    await Promise.all(asking);
    expect(await image('/ninth', 'a')).to.equal('image/png');
  });

  it('callers who disconnect before the image arrives do not affect others', async () => {
    const path = fixture.pathOf('/held/large');
    const { port, hostname } = new URL(fixture.api.url);
    const leaving = times(10, () => connect(Number(port), hostname));
    for (const socket of leaving) {
      await once(socket, 'connect');
      await new Promise((sent) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n`, sent));
    }
    await waitUntil(() => fixture.held.length === 1, 'the request');
    const staying = fixture.get(path, { caller: '192.0.2.5' });
    await fixture.image('/all-have-asked');
    for (const socket of leaving) socket.destroy();
    await fixture.image('/all-have-left');
    answerAll();
    expect((await staying).status).to.equal(200);
    const again = fixture.get(path);
    await waitUntil(() => fixture.held.length === 1, 'the request');
    answerAll();
    expect((await again).status).to.equal(200);
  });

  it('503 beyond the bytes that are being sent to one caller or in all; each image counts once', () => {
    const image = (mib: number) => ({ contentType: 'image/png', bytes: Buffer.alloc(mib * 1024 * 1024) });
    const send = createSendLimiter();
    const refusal = (act: () => unknown): void => void expect(act).to.throw().with.property('code', 'unavailable');
    const [first, ...seven] = times(8, () => send(image(8), 'a'));
    refusal(() => send(image(8), 'a'));
    const others = times(24, (at) => send(image(8), `b${at}`));
    refusal(() => send(image(8), 'c'));
    first?.();
    const shared = image(8);
    const readers = times(20, (at) => send(shared, `d${at}`));
    refusal(() => send(image(8), 'e'));
    for (const giveBack of [...seven, ...others, ...readers]) giveBack();
    for (const giveBack of times(8, () => send(image(8), 'a'))) giveBack();
  });
});
