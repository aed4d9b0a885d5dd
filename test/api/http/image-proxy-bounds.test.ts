import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { createSending } from '../../../apps/api/images.ts';
import type { Refusal } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { createImageProxy } from '../../../lib/domain/files/image-proxy.ts';
import { until } from '../../harness/scene.ts';
import { type Peer, type Site, startPeer, startSite } from '../../harness/site.ts';
import { type Got, type ProxyScene, pngOfBytes, samples, startProxyScene } from './image-proxy-fixture.ts';

const statuses = async (answers: readonly Promise<Got>[]): Promise<number[]> => (await Promise.all(answers)).map(({ status }) => status);
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

describe('bounds of the image proxy', () => {
  let scene: ProxyScene;
  let dead: Peer;
  let other: Site;
  before(async () => {
    other = await startSite((_request, response) => void response.end(samples.png));
    dead = await startPeer((socket) => socket.destroy());
    scene = await startProxyScene(
      (request, response) => {
        const { url = '' } = request;
        if (url.includes('gone')) response.writeHead(404).end();
        else if (url.includes('to-dead')) response.writeHead(302, { location: `https://${dead.pair}/x` }).end();
        else response.end(url.includes('large') ? pngOfBytes(7_000_000) : samples.png);
      },
      [dead.pair, other.pair],
    );
  });
  after(async () => {
    await scene.close();
    await dead.close();
    await other.close();
  });
  beforeEach(() => {
    scene.site.asked.length = 0;
    scene.held.length = 0;
  });

  /** Runs `act` with the process' clock so far ahead. */
  const later = async (ms: number, act: () => Promise<void>): Promise<void> => {
    const { platform } = scene.api;
    const { now } = platform;
    platform.now = () => now() + ms;
    await act().finally(() => {
      platform.now = now;
    });
  };
  const answerAll = (): void => {
    for (const { answer } of scene.held.splice(0)) answer();
  };

  it('what twenty ask for at once is fetched once', async () => {
    const asking = times(20, (at) => scene.image('/held/same', `192.0.2.${at}`));
    await until(() => scene.held.length === 1, 'the request');
    await scene.image('/after');
    answerAll();
    expect(await statuses(asking)).to.deep.equal(times(20, () => 200));
    expect(scene.site.asked.filter((path) => path === '/held/same')).to.have.length(1);
  });

  it('an image stays in memory for an hour, a large one does not', async () => {
    for (const path of ['/kept', '/kept', '/large', '/large']) expect((await scene.image(path)).status).to.equal(200);
    await later(limits.imageProxyCachedMs - 60_000, async () => void (await scene.image('/kept')));
    expect(scene.site.asked).to.deep.equal(['/kept', '/large', '/large']);
    await later(limits.imageProxyCachedMs + 60_000, async () => void (await scene.image('/kept')));
    expect(scene.site.asked).to.have.length(4);
  });

  it('what gave none is asked for again after a minute, not before', async () => {
    for (const ms of [0, 0, 55_000, 65_000]) await later(ms, async () => void expect((await scene.image('/gone')).status).to.equal(404));
    expect(scene.site.asked).to.deep.equal(['/gone', '/gone']);
  });

  it('nothing more is asked of a host that could not be reached for a minute; whoever redirects there is not meant', async () => {
    const ask = async (path: string): Promise<void> => {
      expect((await scene.get(scene.pathOf(`https://${dead.pair}${path}`))).status).to.equal(404);
    };
    await scene.image('/to-dead');
    expect((await scene.image('/beside')).status).to.equal(200);
    const before = dead.opened();
    await ask('/a');
    await ask('/b');
    expect(dead.opened()).to.equal(before + 1);
    await later(65_000, () => ask('/c'));
    expect(dead.opened()).to.equal(before + 2);
  });

  /** Asks the proxy itself, so that the order of what is asked is certain. */
  const askedOf = () => {
    const { outbound, log } = scene.api.platform;
    const clock = { ahead: 0 };
    const proxy = createImageProxy({ outbound, log, now: () => Date.now() + clock.ahead });
    const image = (path: string, caller: string): Promise<string> =>
      proxy(path.startsWith('/') ? scene.site.url + path : path, caller).then(
        ({ contentType }) => contentType,
        (refusal: Refusal) => `${refusal.code} ${refusal.extra.retryAfter}`,
      );
    return { clock, image };
  };

  it('sixteen are fetched at once, at most half of them for one caller and a third of one host, so that others do not wait', async () => {
    const { image } = askedOf();
    const asking = times(12, (at) => image(`/held/a${at}`, 'a'));
    await until(() => scene.held.length === 6, 'six requests');
    for (const caller of ['b', 'c']) asking.push(...times(12, (at) => image(`/held/${caller}${at}`, caller)));
    for (const caller of ['a', 'b', 'c', 'd']) expect(await image(`${other.url}/${caller}`, caller)).to.equal('image/png');
    expect(scene.held.map(({ path }) => path.slice(0, 7))).to.deep.equal(times(6, () => '/held/a'));
    answerAll();
    await until(() => scene.held.length === 6, 'the next requests');
    const next = scene.held.map(({ path }) => path.slice(6, 7));
    expect(next.toSorted()).to.deep.equal(['a', 'a', 'b', 'b', 'c', 'c']);
    await until(() => {
      expect(scene.held.length).to.be.at.most(6);
      answerAll();
      return scene.site.asked.length === 36;
    }, 'the rest');
    answerAll();
    await Promise.all(asking);
    expect(new Set(scene.site.asked).size).to.equal(36);
  });

  it('503 at once when too many of a caller wait', async () => {
    const { image } = askedOf();
    const asking = times(6 + limits.imageProxyWaitingPerCaller, (at) => image(`/held/w${at}`, 'a'));
    await until(() => scene.held.length === 6, 'six requests');
    expect(await image('/one-more', 'a')).to.equal('unavailable 2');
    await until(() => {
      answerAll();
      return scene.site.asked.length === asking.length;
    }, 'the rest');
    answerAll();
    await Promise.all(asking);
  });

  it('503 with Retry-After when no turn came in 10 s', async () => {
    const { image, clock } = askedOf();
    const asking = times(6, (at) => image(`/held/w${at}`, 'a'));
    const [ninth, late] = [image('/ninth', 'a'), image('/late', 'a')];
    await until(() => scene.held.length === 6, 'six requests');
    clock.ahead = limits.imageProxyWaitMs + 5_000;
    const soon = image('/soon', 'a');
    answerAll();
    expect(await Promise.all([ninth, late, soon])).to.deep.equal(['unavailable 2', 'unavailable 2', 'image/png']);
    expect(scene.site.asked).to.include('/soon').and.not.include('/ninth');
    await Promise.all(asking);
    expect(await image('/ninth', 'a')).to.equal('image/png');
  });

  it('whoever goes away before an image comes leaves nothing behind', async () => {
    const path = scene.pathOf('/held/large');
    const { port, hostname } = new URL(scene.api.url);
    const leaving = times(10, () => connect(Number(port), hostname));
    for (const socket of leaving) {
      await once(socket, 'connect');
      await new Promise((sent) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n`, sent));
    }
    await until(() => scene.held.length === 1, 'the request');
    const staying = scene.get(path, { caller: '192.0.2.5' });
    await scene.image('/all-are-here');
    for (const socket of leaving) socket.destroy();
    await scene.image('/all-are-gone');
    answerAll();
    expect((await staying).status).to.equal(200);
    const again = scene.get(path);
    await until(() => scene.held.length === 1, 'the request');
    answerAll();
    expect((await again).status).to.equal(200);
  });

  it('so much is held for readers, of one caller and in all, each image once', () => {
    const image = (mib: number) => ({ contentType: 'image/png', bytes: Buffer.alloc(mib * 1024 * 1024) });
    const send = createSending();
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
