import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import type { Server } from '../../lib/contract/server.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type Peer, type ScriptedGateway, startScriptedGateway } from './scripted-gateway.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: an interrupted connection', () => {
  let gateway: ScriptedGateway;
  let count = 0;
  const fixture = useWebFixture(async () => {
    gateway = await startScriptedGateway();
    return { GATEWAY_URL: gateway.url };
  });
  after(() => gateway?.close());

  /** A page that shows a new channel, with its session and the API paths that it has requested. */
  interface Opened {
    page: Page;
    peer: Peer;
    channelId: string;
    name: string;
    sessionId: string;
    requestedPaths: string[];
  }

  const ready = (peer: Peer, sessionId: string, s: string): void =>
    peer.send({ op: 0, t: 'READY', s, d: { v: 1, sessionId, resumeUrl: gateway.url, servers: [fixture.server.id] } });

  const open = async (): Promise<Opened> => {
    const name = `channel-${++count}`;
    const channelId = await fixture.newChannel(name);
    const page = await fixture.openPage(fixture.bob);
    const requestedPaths: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (request.method() === 'GET' && pathname.startsWith('/api/')) requestedPaths.push(pathname);
    });
    await page.goto(`/servers/${fixture.server.id}/${channelId}`);
    const peer = await gateway.accept();
    expect(await peer.next()).to.deep.equal({ op: 2, d: {} });
    const sessionId = `session-${count}`;
    ready(peer, sessionId, 'first');
    await page.getByRole('textbox', { name: `Message ${name}` }).waitFor();
    return { page, peer, channelId, name, sessionId, requestedPaths };
  };

  /** Posts a message and sends its event to the page. */
  const postAndDeliver = async (peer: Peer, channelId: string, content: string, s: string): Promise<void> => {
    const d = await fixture.request<Message>(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content });
    peer.send({ op: 0, t: 'MESSAGE_CREATE', s, d: { ...d, serverId: fixture.server.id } });
  };
  const waitForMessage = (page: Page, text: string): Promise<void> => page.getByRole('article').getByText(text).waitFor();
  const waitForReconnect = (page: Page): Promise<void> => page.getByText('Connection lost').waitFor({ state: 'detached' });
  const sync = '/api/users/@me/sync';

  it('loads servers, channels, direct messages and read marks with one request', async () => {
    const { requestedPaths } = await open();
    const lists = requestedPaths.filter((path) => /^\/api\/(servers|users)/.test(path) && !path.endsWith('/members'));
    expect(lists).to.deep.equal([sync]);
  });

  for (const [cause, isTold] of [
    ['without any sign of it', false],
    ['as the browser says', true],
  ] as const)
    it(`says that the connection is lost when the gateway is silent, ${cause}, and resumes`, async () => {
      const { page, peer, sessionId } = await open();
      peer.fallSilent();
      if (isTold) await page.evaluate("dispatchEvent(new Event('offline'))");
      expect(await peer.next()).to.deep.equal({ op: 1, d: 'first' });
      await page.getByText('Connection lost').waitFor();
      const next = await gateway.accept();
      expect(await next.next()).to.deep.equal({ op: 6, d: { sessionId, seq: 'first' } });
      next.send({ op: 0, t: 'RESUMED', s: 'first', d: { replayed: 0 } });
      await waitForReconnect(page);
    });

  it('resumes after the last received event, and loads nothing again', async () => {
    const otherChannelId = await fixture.newChannel('aside');
    const { page, peer, channelId, sessionId, requestedPaths } = await open();
    await postAndDeliver(peer, channelId, 'before', 'second');
    await waitForMessage(page, 'before');
    requestedPaths.length = 0;
    peer.close(1012);
    await page.getByText('Connection lost').waitFor();
    const next = await gateway.accept();
    expect(await next.next()).to.deep.equal({ op: 6, d: { sessionId, seq: 'second' } });
    await postAndDeliver(next, channelId, 'meanwhile', 'third');
    await postAndDeliver(next, otherChannelId, `for <@${fixture.bob.id}>`, 'fourth');
    next.send({ op: 0, t: 'RESUMED', s: 'fifth', d: { replayed: 2 } });
    await waitForReconnect(page);
    await waitForMessage(page, 'meanwhile');
    await page.getByRole('link', { name: 'aside 1 mention' }).waitFor();
    expect(requestedPaths.filter((path) => path !== '/api/gateway')).to.deep.equal([]);
    next.close(4000);
    expect(await (await gateway.accept()).next(), 'the position of RESUMED').to.deep.equal({ op: 6, d: { sessionId, seq: 'fifth' } });
  });

  it('sends a read mark after the resume when it could not be sent before', async () => {
    const { page, peer, channelId } = await open();
    const readTo = async (): Promise<string | null | undefined> => {
      const marks = await fixture.request<ReadState[]>(fixture.bob, 'GET', '/api/users/@me/reads');
      return marks.find((one) => one.channelId === channelId)?.readMessageId;
    };
    await page.route('**/read', (route) => route.abort());
    const failed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/read'));
    await postAndDeliver(peer, channelId, 'read while the service is away', 'second');
    await failed;
    expect(await readTo()).to.equal(null);
    await page.unroute('**/read');
    peer.close(1012);
    const next = await gateway.accept();
    await next.next();
    next.send({ op: 0, t: 'RESUMED', s: 'second', d: { replayed: 0 } });
    await waitUntil(async () => (await readTo()) !== null, 'the mark');
  });

  it('reconnects and resumes after op 7', async () => {
    const { page, peer, channelId, sessionId } = await open();
    peer.send({ op: 7, d: { retryAfterMs: 100 } });
    const next = await gateway.accept();
    expect(await next.next()).to.deep.equal({ op: 6, d: { sessionId, seq: 'first' } });
    next.send({ op: 0, t: 'RESUMED', s: 'first', d: { replayed: 0 } });
    await postAndDeliver(next, channelId, 'after the move', 'second');
    await waitForMessage(page, 'after the move');
  });

  it('waits after op 7 as long as the gateway asks for', async () => {
    const { page, peer, sessionId } = await open();
    let sockets = 0;
    page.on('websocket', () => sockets++);
    await page.clock.install();
    peer.send({ op: 7, d: { retryAfterMs: 600_000 } });
    await page.getByText('Connection lost').waitFor();
    await page.clock.fastForward(300_000);
    await page.evaluate(() => undefined); // a socket that was opened is reported before this
    expect(sockets).to.equal(0);
    await page.clock.fastForward(300_000);
    expect(await (await gateway.accept()).next()).to.deep.equal({ op: 6, d: { sessionId, seq: 'first' } });
  });

  for (const d of [false, { resumable: false, reason: 'too old' }])
    it(`identifies on the same socket and loads once after op 9 with ${JSON.stringify(d)}`, async () => {
      const { page, peer, channelId, name, requestedPaths } = await open();
      peer.close(1012);
      await page.getByText('Connection lost').waitFor();
      const next = await gateway.accept();
      expect((await next.next()).op).to.equal(6);
      const made = await fixture.newChannel(`made-${name}`);
      const { content } = await fixture.request<Message>(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'missed' });
      requestedPaths.length = 0;
      next.send({ op: 9, d });
      expect(await next.next()).to.deep.equal({ op: 2, d: {} });
      ready(next, 'another', 'again');
      await waitForReconnect(page);
      await waitForMessage(page, content);
      await page.getByRole('link', { name: `made-${name}`, exact: true }).waitFor();
      expect(requestedPaths.filter((path) => path === sync)).to.have.lengthOf(1);
      await postAndDeliver(next, made, 'there', 'later');
      await page.getByRole('link', { name: `made-${name} unread` }).waitFor();
    });

  it('identifies on the same socket after op 9 on a live connection', async () => {
    const { page, peer, channelId } = await open();
    peer.send({ op: 9, d: { resumable: false, reason: 'the log was lost' } });
    expect(await peer.next()).to.deep.equal({ op: 2, d: {} });
    const made = await fixture.newChannel('after-op-9');
    ready(peer, 'another', 'again');
    await page.getByRole('link', { name: 'after-op-9', exact: true }).waitFor();
    for (const id of [channelId, made]) await postAndDeliver(peer, id, 'still here', 'later');
    await waitForMessage(page, 'still here');
  });

  /** Holds the next answer of `path` that the page asks for. `isMade` resolves when it is made; `release` lets the page have it. */
  const holdAnswer = async (page: Page, path: string): Promise<{ isMade: Promise<unknown>; release: () => void }> => {
    const answers = new EventEmitter();
    await page.route(`**${path}`, async (route) => {
      const response = await route.fetch();
      answers.emit('made');
      await once(answers, 'release');
      await route.fulfill({ response });
    });
    return { isMade: once(answers, 'made'), release: () => void answers.emit('release') };
  };
  const readServer = (): Promise<Server> => fixture.request<Server>(fixture.ada, 'GET', `/api/servers/${fixture.server.id}`);

  for (const what of ['everything', 'a server'] as const)
    it(`keeps an event that arrives while an older state of ${what} is loading`, async () => {
      const { page, peer } = await open();
      await fixture.newChannel(`only-in-the-answer-of-${what.replace(' ', '-')}`);
      const answer = await holdAnswer(page, what === 'everything' ? sync : `/api/servers/${fixture.server.id}`);
      if (what === 'everything') {
        peer.send({ op: 9, d: false });
        await peer.next();
        ready(peer, 'another', 'again');
      } else {
        const { id, name, iconUrl, types, community, listed } = await readServer();
        peer.send({ op: 0, t: 'SERVER_UPDATE', s: 'renamed', d: { id, name, iconUrl, types, community, listed } });
      }
      await answer.isMade;
      const fresh = { name: `came-meanwhile-${count}`, kind: 'text' };
      const channel = await fixture.request<object>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/channels`, fresh);
      peer.send({ op: 0, t: 'CHANNEL_CREATE', s: 'created', d: channel });
      await page.getByRole('link', { name: fresh.name, exact: true }).waitFor();
      answer.release();
      await page.getByRole('link', { name: `only-in-the-answer-of-${what.replace(' ', '-')}`, exact: true }).waitFor();
      expect(await page.getByRole('link', { name: fresh.name, exact: true }).count()).to.equal(1);
    });

  it('removes the threads of a channel that is hidden', async () => {
    const { page, peer } = await open();
    const name = `hidden-${count}`;
    const id = await fixture.newChannel(name);
    const linkTo = (text: string): Locator => page.getByRole('link', { name: text, exact: true });
    const show = async (path: string, body?: object): Promise<void> =>
      peer.send({
        op: 0,
        t: 'CHANNEL_CREATE',
        s: 'shown',
        d: await fixture.request<object>(fixture.ada, body ? 'POST' : 'GET', path, body),
      });
    await show(`/api/channels/${id}`);
    await show(`/api/channels/${id}/threads`, { name: 'topic' });
    await linkTo('topic').waitFor();
    peer.send({ op: 0, t: 'CHANNEL_DELETE', s: 'hidden', d: { id, serverId: fixture.server.id } });
    await linkTo(name).waitFor({ state: 'detached' });
    await show(`/api/channels/${id}`);
    await linkTo(name).waitFor();
    expect(await linkTo('topic').count()).to.equal(0);
  });

  it('loads the messages again when a server was left and joined again', async () => {
    const { page, peer, channelId, name } = await open();
    await postAndDeliver(peer, channelId, 'before', 'before');
    await waitForMessage(page, 'before');
    peer.send({ op: 0, t: 'SERVER_DELETE', s: 'left', d: { id: fixture.server.id } });
    await page.getByRole('textbox', { name: `Message ${name}` }).waitFor({ state: 'detached' });
    await fixture.request(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'not delivered' });
    peer.send({ op: 0, t: 'SERVER_CREATE', s: 'joined', d: await readServer() });
    // Who loses the server of the open page is led home.
    await page.getByRole('link', { name: new RegExp(`^${fixture.server.name}`) }).click();
    await page.getByRole('link', { name: new RegExp(`^${name}\\b`) }).click();
    await waitForMessage(page, 'not delivered');
  });

  it('asks the user to log in after close code 4004', async () => {
    const { page, peer } = await open();
    peer.close(4004);
    await page.getByText('You have been logged out').waitFor();
  });
});
