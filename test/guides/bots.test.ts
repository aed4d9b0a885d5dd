// Bots as a newcomer would write them, in test/guides/bots: what people see of them, also across restarts.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { PickerCommand } from '../../lib/contract/command.ts';
import type { Message } from '../../lib/contract/message.ts';
import { changeChannel } from '../harness/crosspost.ts';
import { makeMember } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type Caller, send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';
import { useGuideFixture } from './fixture.ts';
import { type Program, usePrograms } from './programs.ts';

/** How many messages the counting bot counts. `COUNTED_MESSAGES=5000` is the full run. */
const countedMessages = Number(process.env.COUNTED_MESSAGES ?? 400);

/** A feed that can get new entries. */
async function startFeed() {
  const titles: string[] = [];
  const server = createServer((_, response) => {
    const items = titles.map(
      (title) => `<item><title>${title}</title><link>https://news.example/${title}</link><guid>${title}</guid></item>`,
    );
    response.end(`<rss version="2.0"><channel><title>News</title>${items.reverse().join('')}</channel></rss>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    titles,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

describe('guides: bots', () => {
  const fixture = useGuideFixture({ RATE_LIMIT: '5000/5000' });
  const { api, owner, member, server, post, invoke, answer, env } = fixture;
  const feed = use(startFeed);
  const { canRun, run } = usePrograms();
  const createChannel = (name: string, kind: string): Promise<Channel> =>
    send<Channel>(api, 201, owner, 'POST', `/api/servers/${server.id}/channels`, { name, kind });
  const contentsOf = async (channelId: string): Promise<string[]> =>
    (await send<Message[]>(api, 200, owner, 'GET', `/api/channels/${channelId}/messages`)).map(({ content }) => content);

  /** Posts messages while the bot runs, while it is away, and while it ends; each is counted once. */
  async function counts(program: Program, file: string): Promise<void> {
    const rounds = 4;
    let current = program;
    for (let round = 0; round < rounds; round++) {
      const postSome = async (count: number): Promise<void> => {
        for (let left = count; left > 0; left--) await post(`counted in round ${round}`);
      };
      const some = Math.floor(countedMessages / rounds / 4);
      await Promise.all([postSome(some), postSome(some)]);
      await Promise.all([current.stop().then((code) => expect(code).to.equal(0)), postSome(some)]);
      await postSome(countedMessages / rounds - some * 3);
      current = await run(file, env());
    }
    const wanted = `${countedMessages} messages, ${countedMessages} of them by you.`;
    await waitUntil(async () => (await invoke('count', {}, ({ content }) => /messages,/.test(content))).content === wanted, wanted);
  }

  /** Sends a reminder once, though the bot was restarted in between, and has no interaction to answer any more. */
  async function reminds(program: Program, file: string): Promise<void> {
    const wanted = `<@${owner.id}>, you wanted to be reminded: tea`;
    const remindAndRestart = async (): Promise<void> => {
      await invoke('remind', { minutes: 20, text: 'tea' }, ({ content }) => content === 'I will remind you in 20 minutes.');
      await program.stop();
      await run(file, env());
    };
    expect((await answer(remindAndRestart, ({ content }) => content === wanted)).mentions).to.deep.equal([owner.id]);
    expect((await contentsOf(server.general)).filter((content) => content === wanted)).to.have.length(1);
  }

  /** Shows a message with two stars, and changes the number. */
  async function showsStars(): Promise<void> {
    const board = await createChannel('starboard', 'text');
    const { id } = await post('A good one.');
    const star = `/api/channels/${server.general}/messages/${id}/reactions/${encodeURIComponent('⭐')}`;
    const shown = await answer(
      () => Promise.all([owner, member].map((as) => send(api, 204, as, 'PUT', star))),
      ({ channelId }) => channelId === board.id,
    );
    expect(shown.embeds[0]).to.include({ description: 'A good one.' });
    expect(shown.content).to.equal(`⭐ 2 · <@${owner.id}> in <#${server.general}>`);
    await send(api, 204, member, 'DELETE', star);
    await waitUntil(async () => (await contentsOf(board.id)).join().startsWith('⭐ 1 '), 'the new number');
    expect(await contentsOf(board.id)).to.have.length(1);
  }

  /** Opens a channel that only the person, the staff and the bot see, and closes it. */
  async function opensTickets(): Promise<void> {
    const outsider = await makeMember(api, owner, server.id);
    const { content } = await invoke('ticket', { subject: 'a lost parcel' }, ({ content: text }) => text.startsWith('Your ticket'), member);
    const id = /<#(\d+)>/.exec(content)?.[1] ?? expect.fail(content);
    const read = (as: Caller, status: number) => send<Message[]>(api, status, as, 'GET', `/api/channels/${id}/messages`);
    expect((await read(member, 200)).map((message) => message.content)).to.deep.equal([`<@${member.id}> asks: a lost parcel`]);
    await read(outsider, 403);
    const commands = await send<PickerCommand[]>(api, 200, member, 'GET', `/api/channels/${id}/commands`);
    const close = commands.find(({ name }) => name === 'close') ?? expect.fail('no /close');
    await send(api, 202, member, 'POST', `/api/channels/${id}/commands/${close.id}/invoke`, { options: [] });
    await waitUntil(async () => (await api.call('GET', `/api/channels/${id}`, { as: member.as })).status === 404, 'the end of the channel');
  }

  /** Posts the entries of a feed in their order, once, and publishes them. */
  async function postsFeed(program: Program, file: string): Promise<void> {
    const copiesOf = async (): Promise<string[]> => (await contentsOf(following.id)).map((content) => content.split('\n')[0] ?? '');
    feed.titles.push('first', 'second');
    await waitUntil(async () => (await copiesOf()).length === 2, 'the copies');
    await program.stop();
    feed.titles.push('third');
    await run(file, { ...env(), ...settings.rss() });
    await waitUntil(async () => (await copiesOf()).length === 3, 'the copy of the third');
    expect(await copiesOf()).to.deep.equal(['**first**', '**second**', '**third**']);
    expect((await contentsOf(news.id)).map((content) => content.split('\n')[0])).to.deep.equal(['**first**', '**second**', '**third**']);
  }

  let news: Channel;
  let following: Channel;
  before(async () => {
    news = await createChannel('news', 'text');
    await changeChannel(api.platform, server.id, news.id, { kind: 'announcement' });
    following = await createChannel('following', 'text');
    await send(api, 201, owner, 'POST', `/api/channels/${news.id}/followers`, { channelId: following.id });
  });
  const settings = {
    rss: () => ({ FEED_URL: feed.url, CHANNEL_ID: news.id, PAUSE: '0.1' }),
    reminders: () => ({ SECONDS_PER_MINUTE: '0.05' }),
  };

  const rows: readonly [
    what: string,
    file: string,
    more: () => Record<string, string>,
    act: (program: Program, file: string) => Promise<void>,
  ][] = [
    ['counts each message once, across restarts', 'counting.py', () => ({}), counts],
    ['reminds people, also after a restart', 'reminders.py', settings.reminders, reminds],
    ['shows messages with stars', 'starboard.py', () => ({}), showsStars],
    ['opens and closes private channels', 'tickets.py', () => ({}), opensTickets],
    ['posts a feed and publishes it', 'rss.py', settings.rss, postsFeed],
  ];
  for (const [what, file, more, act] of rows)
    it(`${file} ${what}`, async function () {
      if (!canRun(file)) this.skip();
      const program = await run(file, { ...env(), ...more() });
      try {
        await act(program, file);
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${program.output}`, { cause: error });
      }
    });
});
