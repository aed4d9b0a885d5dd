import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import { until } from '../harness/scene.ts';
import { useHarbour } from './harbour.ts';
import { type Peer, type ScriptedGateway, startScriptedGateway } from './scripted-gateway.ts';

describe('web: a connection that is interrupted', function () {
  this.timeout(180_000);
  let gateway: ScriptedGateway;
  let count = 0;
  const harbour = useHarbour(async () => {
    gateway = await startScriptedGateway();
    return { GATEWAY_URL: gateway.url };
  });
  after(() => gateway?.close());

  /** A page on a new channel of its own, with its session and the paths of the API that it has read since it opened. */
  interface Opened {
    page: Page;
    peer: Peer;
    channelId: string;
    name: string;
    sessionId: string;
    asked: string[];
  }

  const ready = (peer: Peer, sessionId: string, s: string): void =>
    peer.send({ op: 0, t: 'READY', s, d: { v: 1, sessionId, resumeUrl: gateway.url, servers: [harbour.home.id] } });

  const open = async (): Promise<Opened> => {
    const name = `channel-${++count}`;
    const channelId = await harbour.newChannel(name);
    const page = await harbour.screen(harbour.bob);
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (request.method() === 'GET' && pathname.startsWith('/api/')) asked.push(pathname);
    });
    await page.goto(`/servers/${harbour.home.id}/${channelId}`);
    const peer = await gateway.accept();
    expect(await peer.next()).to.deep.equal({ op: 2, d: {} });
    const sessionId = `session-${count}`;
    ready(peer, sessionId, 'first');
    await page.getByRole('textbox', { name: `Message ${name}` }).waitFor();
    return { page, peer, channelId, name, sessionId, asked };
  };

  /** Posts a message and sends it to the page. */
  const tell = async (peer: Peer, channelId: string, content: string, s: string): Promise<void> => {
    const d = await harbour.ask<Message>(harbour.ada, 'POST', `/api/channels/${channelId}/messages`, { content });
    peer.send({ op: 0, t: 'MESSAGE_CREATE', s, d: { ...d, serverId: harbour.home.id } });
  };
  const shows = (page: Page, text: string): Promise<void> => page.getByRole('article').getByText(text).waitFor();
  const isBack = (page: Page): Promise<void> => page.getByText('Connection lost').waitFor({ state: 'detached' });
  const sync = '/api/users/@me/sync';

  it('a page loads with one request for servers, channels, direct messages and read marks', async () => {
    const { asked } = await open();
    const lists = asked.filter((path) => /^\/api\/(servers|users)/.test(path) && !path.endsWith('/members'));
    expect(lists).to.deep.equal([sync]);
  });

  it('a resume names the last event, and nothing is loaded again', async () => {
    const aside = await harbour.newChannel('aside');
    const { page, peer, channelId, sessionId, asked } = await open();
    await tell(peer, channelId, 'before', 'second');
    await shows(page, 'before');
    let acknowledged: unknown;
    while (acknowledged !== 'second') acknowledged = await peer.heartbeat();
    asked.length = 0;
    peer.close(1012);
    await page.getByText('Connection lost').waitFor();
    const next = await gateway.accept();
    expect(await next.next()).to.deep.equal({ op: 6, d: { sessionId, seq: 'second' } });
    await tell(next, channelId, 'meanwhile', 'third');
    await tell(next, aside, `for <@${harbour.bob.id}>`, 'fourth');
    next.send({ op: 0, t: 'RESUMED', s: 'fifth', d: { replayed: 2 } });
    await isBack(page);
    await shows(page, 'meanwhile');
    await page.getByRole('link', { name: 'aside 1 mentions' }).waitFor();
    expect(asked.filter((path) => path !== '/api/gateway')).to.deep.equal([]);
    next.close(4000);
    expect(await (await gateway.accept()).next(), 'the position of RESUMED').to.deep.equal({ op: 6, d: { sessionId, seq: 'fifth' } });
  });

  it('a read mark that could not be sent is sent after the resume', async () => {
    const { page, peer, channelId } = await open();
    const readTo = async (): Promise<string | null | undefined> => {
      const marks = await harbour.ask<ReadState[]>(harbour.bob, 'GET', '/api/users/@me/reads');
      return marks.find((one) => one.channelId === channelId)?.readMessageId;
    };
    await page.route('**/read', (route) => route.abort());
    const failed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/read'));
    await tell(peer, channelId, 'read while the service is away', 'second');
    await failed;
    expect(await readTo()).to.equal(null);
    await page.unroute('**/read');
    peer.close(1012);
    const next = await gateway.accept();
    await next.next();
    next.send({ op: 0, t: 'RESUMED', s: 'second', d: { replayed: 0 } });
    await until(async () => (await readTo()) !== null, 'the mark');
  });

  it('op 7 makes the page come back, and its session goes on', async () => {
    const { page, peer, channelId, sessionId } = await open();
    peer.send({ op: 7, d: { retryAfterMs: 100 } });
    const next = await gateway.accept();
    expect(await next.next()).to.deep.equal({ op: 6, d: { sessionId, seq: 'first' } });
    next.send({ op: 0, t: 'RESUMED', s: 'first', d: { replayed: 0 } });
    await tell(next, channelId, 'after the move', 'second');
    await shows(page, 'after the move');
  });

  for (const d of [false, { resumable: false, reason: 'too old' }])
    it(`op 9 with ${JSON.stringify(d)}: the page identifies on the same socket and loads once`, async () => {
      const { page, peer, channelId, name, asked } = await open();
      peer.close(1012);
      await page.getByText('Connection lost').waitFor();
      const next = await gateway.accept();
      expect((await next.next()).op).to.equal(6);
      const made = await harbour.newChannel(`made-${name}`);
      const { content } = await harbour.ask<Message>(harbour.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'missed' });
      asked.length = 0;
      next.send({ op: 9, d });
      expect(await next.next()).to.deep.equal({ op: 2, d: {} });
      ready(next, 'another', 'again');
      await isBack(page);
      await shows(page, content);
      await page.getByRole('link', { name: `made-${name}`, exact: true }).waitFor();
      expect(asked.filter((path) => path === sync)).to.have.lengthOf(1);
      await tell(next, made, 'there', 'later');
      await page.getByRole('link', { name: `made-${name} unread` }).waitFor();
    });

  it('op 9 on a live connection: the page identifies there, and stays', async () => {
    const { page, peer, channelId } = await open();
    peer.send({ op: 9, d: { resumable: false, reason: 'the log was lost' } });
    expect(await peer.next()).to.deep.equal({ op: 2, d: {} });
    const made = await harbour.newChannel('after-op-9');
    ready(peer, 'another', 'again');
    await page.getByRole('link', { name: 'after-op-9', exact: true }).waitFor();
    for (const id of [channelId, made]) await tell(peer, id, 'still here', 'later');
    await shows(page, 'still here');
  });

  it('an event that comes while the page loads is not lost by the older answer', async () => {
    const { page, peer } = await open();
    const answers = new EventEmitter();
    await page.route(`**${sync}`, async (route) => {
      const response = await route.fetch();
      answers.emit('made');
      await once(answers, 'release');
      await route.fulfill({ response });
    });
    const made = once(answers, 'made');
    peer.send({ op: 9, d: false });
    await peer.next();
    ready(peer, 'another', 'again');
    await made;
    const response = page.waitForResponse(`**${sync}`);
    const fresh = { name: 'came-meanwhile', kind: 'text' };
    const channel = await harbour.ask<object>(harbour.ada, 'POST', `/api/servers/${harbour.home.id}/channels`, fresh);
    peer.send({ op: 0, t: 'CHANNEL_CREATE', s: 'created', d: channel });
    await page.getByRole('link', { name: 'came-meanwhile', exact: true }).waitFor();
    answers.emit('release');
    await response;
    await peer.heartbeat();
    await peer.heartbeat();
    expect(await page.getByRole('link', { name: 'came-meanwhile', exact: true }).count()).to.equal(1);
  });

  it('4004 ends it: the person is asked to log in', async () => {
    const { page, peer } = await open();
    peer.close(4004);
    await page.getByText('You have been logged out').waitFor();
  });
});
