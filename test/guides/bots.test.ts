// Bots as a newcomer would write them, in test/guides/bots: what people see of them, also across restarts.
import { createServer, request as openRequest, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { PickerCommand } from '../../lib/contract/command.ts';
import type { Member } from '../../lib/contract/member.ts';
import type { Message } from '../../lib/contract/message.ts';
import { changeChannel } from '../harness/crosspost.ts';
import { giveRole, join, makeMember, makeRole } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { recordEvents } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';
import { useGuideFixture } from './fixture.ts';
import { type Program, usePrograms } from './programs.ts';

/** How many messages the counting bot counts. `COUNTED_MESSAGES=5000` is the full run. */
const countedMessages = Number(process.env.COUNTED_MESSAGES ?? 400);

/** Starts an HTTP server on a free port. */
async function listen(handle: RequestListener) {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A language model: it answers the newest question with what `say` is given, until `end`. */
async function startModel() {
  let response: ServerResponse | undefined;
  const listening = await listen((_, opened) => {
    opened.flushHeaders();
    response = opened;
  });
  return {
    ...listening,
    isAsked: () => response !== undefined,
    say: (piece: string) => void response?.write(piece),
    end: () => void response?.end(),
  };
}

/** Passes requests on to the API at `urlOf()`, and keeps the statuses of the answers. */
async function startProxy(urlOf: () => string) {
  const statuses: number[] = [];
  const listening = await listen((request, response) => {
    const { method, headers } = request;
    const passed = openRequest(urlOf() + request.url, { method, headers }, (answer) => {
      statuses.push(answer.statusCode ?? 0);
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    request.pipe(passed.on('error', () => response.destroy()));
  });
  return { ...listening, statuses };
}

/** A feed that can get new entries. */
async function startFeed() {
  const titles: string[] = [];
  const listening = await listen((_, response) => {
    const items = titles.map(
      (title) => `<item><title>${title}</title><link>https://news.example/${title}</link><guid>${title}</guid></item>`,
    );
    response.end(`<rss version="2.0"><channel><title>News</title>${items.reverse().join('')}</channel></rss>`);
  });
  return { ...listening, titles };
}

describe('guides: bots', () => {
  const fixture = useGuideFixture({ RATE_LIMIT: '5000/5000' });
  const { api, owner, member, server, bot, post, invoke, answer, env, withEndpoint, postPing, deliver } = fixture;
  const feed = use(startFeed);
  const model = use(startModel);
  const proxy = use(() => startProxy(() => api.url));
  const { canRun, run } = usePrograms();
  const createChannel = (name: string, kind: string): Promise<Channel> =>
    send<Channel>(api, 201, owner, 'POST', `/api/servers/${server.id}/channels`, { name, kind });
  const contentsOf = async (channelId: string): Promise<string[]> =>
    (await send<Message[]>(api, 200, owner, 'GET', `/api/channels/${channelId}/messages`)).map(({ content }) => content);

  const titled = (title: string) => (message: Message) => message.embeds[0]?.title === title;
  const says = (pattern: RegExp) => (message: Message) => pattern.test(message.content);
  const messagePath = (id: string): string => `/api/channels/${server.general}/messages/${id}`;
  const reactionPath = (id: string, emoji: string): string => `${messagePath(id)}/reactions/${encodeURIComponent(emoji)}`;
  const readMessage = (id: string): Promise<Message> => send<Message>(api, 200, owner, 'GET', messagePath(id));
  const isMember = async ({ id }: Caller): Promise<boolean> =>
    (await api.call('GET', `/api/servers/${server.id}/members/${id}`, { as: owner.as })).status === 200;

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
    const star = reactionPath(id, '⭐');
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

  /** Deletes unwanted messages, also after an edit, and lets moderators only act, and only on those below them. All of it is in the log. */
  async function moderates(program: Program, file: string): Promise<void> {
    const log = await createChannel('mod-log', 'text');
    const [target, peer] = [await makeMember(api, owner, server.id), await makeMember(api, owner, server.id)];
    const moderators = await makeRole(api, owner, server.id, { permissions: 32 + 1024 + 2048 });
    const logged = (act: () => Promise<unknown>, title: string) =>
      answer(act, (message) => message.channelId === log.id && titled(title)(message));

    await invoke('warn', { who: target.id }, says(/^You need the permission Manage Messages\.$/), member);
    await giveRole(api, owner, server.id, member.id, moderators.id);
    await giveRole(api, owner, server.id, peer.id, moderators.id);
    await post('Get FREE COINS here, says the moderator', {}, member);
    const { embeds } = await logged(() => post('Get FREE COINS here', {}, target), 'Deleted');
    expect(embeds[0]?.description).to.equal(`A message of <@${target.id}> in <#${server.general}>: Get FREE COINS here`);
    const { id } = await post('Good morning', {}, target);
    await logged(() => send(api, 200, target, 'PATCH', messagePath(id), { content: 'Cheap watches' }), 'Deleted');
    const contents = await contentsOf(server.general);
    expect(contents.filter((content) => /coins|watches/i.test(content))).to.deep.equal(['Get FREE COINS here, says the moderator']);

    const warn = (outcome: RegExp) => invoke('warn', { who: target.id, reason: 'spam' }, says(outcome), member);
    await invoke('kick', { who: peer.id }, says(/^That member is not below you\.$/), member);
    await invoke('ban', { who: owner.id }, says(/^That member is not below you\.$/), member);
    expect(await warn(/was warned \(1 of 2\)/)).to.include({ ephemeral: true });
    await program.stop();
    await run(file, env());
    await warn(/was warned \(2 of 2\)/);
    const [conversation] = await send<{ id: string }[]>(api, 200, target, 'GET', '/api/users/@me/channels');
    const told = await send<Message[]>(api, 200, target, 'GET', `/api/channels/${conversation?.id}/messages`);
    expect(told.map(({ content }) => content)).to.deep.equal(Array(2).fill(`You are warned in ${server.name}: spam`));
    await warn(/was warned for the 3th time and kicked/);
    expect(await isMember(target)).to.equal(false);
    await invoke('kick', { who: peer.id }, says(/was kicked/));
    await join(api, owner, server.id, peer);
    await logged(() => invoke('ban', { who: peer.id, reason: 'came again' }, says(/was banned/), member), '/ban');
    const bans = await send<{ user: { id: string }; reason: string }[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/bans`);
    expect(bans.map(({ user, reason }) => [user.id, reason])).to.deep.equal([[peer.id, 'came again']]);
    const entries = await send<Message[]>(api, 200, owner, 'GET', `/api/channels/${log.id}/messages`);
    expect(entries.map((entry) => entry.embeds[0]?.title)).to.have.members([
      'Deleted',
      'Deleted',
      '/warn',
      '/warn',
      '/warn',
      '/kick',
      '/ban',
    ]);
    await send(api, 204, owner, 'DELETE', `/api/servers/${server.id}/roles/${moderators.id}`);
  }

  /** Counts the reactions of people and posts the result once, when the time is over, also if the bot was away then. */
  async function polls(program: Program, file: string): Promise<void> {
    const { id } = await invoke('poll', { question: 'Tea?', choices: 'yes, no', minutes: 20 }, titled('Tea?'));
    await waitUntil(async () => (await readMessage(id)).reactions.length === 2, 'the reactions of the bot');
    expect((await readMessage(id)).reactions.map(({ emoji }) => emoji)).to.deep.equal(['1️⃣', '2️⃣']);
    await send(api, 204, owner, 'PUT', reactionPath(id, '1️⃣'));
    await program.stop();
    await send(api, 204, member, 'PUT', reactionPath(id, '1️⃣'));
    await send(api, 204, member, 'PUT', reactionPath(id, '2️⃣'));
    let current: Program | undefined;
    const restart = async (): Promise<void> => {
      current = await run(file, { ...env(), SECONDS_PER_MINUTE: '0.05' });
    };
    const result = await answer(restart, titled('Result: Tea?'));
    expect(result.reply?.id).to.equal(id);
    expect(result.embeds[0]?.description).to.equal('🏆 yes: 2\nno: 1');
    const start = () => invoke('poll', { question: 'Coffee?', choices: 'yes, no', minutes: 20 }, titled('Coffee?'));
    expect((await answer(start, titled('Result: Coffee?'))).embeds[0]?.description).to.equal('yes: 0\nno: 0');
    await invoke('poll', { question: 'Water?', choices: 'yes' }, says(/^Give 2 to 9 choices\.$/));
    await current?.stop();
    await restart();
    await answer(() => invoke('poll', { question: 'Milk?', choices: 'yes, no', minutes: 1 }, titled('Milk?')), titled('Result: Milk?'));
    const posted = await send<Message[]>(api, 200, owner, 'GET', `/api/channels/${server.general}/messages?limit=100`);
    expect(posted.filter(titled('Result: Tea?'))).to.have.length(1);
  }

  /** Gives and takes a role by reactions and by a command, also for reactions that came while the bot was away. */
  async function givesRoles(program: Program, file: string): Promise<void> {
    const role = await makeRole(api, owner, server.id, { name: 'Blue', permissions: 0 });
    const strong = await makeRole(api, owner, server.id, { name: 'Strong', permissions: 32 });
    await invoke('role-menu', { role1: role.id }, says(/^You need the permission Manage Roles\.$/), member);
    await invoke('role-menu', { role1: role.id, role2: strong.id }, says(/^The role Strong cannot be in a menu/));
    const { id } = await invoke('role-menu', { role1: role.id }, titled('Choose your roles'));
    const awaitRole = (has: boolean): Promise<void> =>
      waitUntil(
        async () => {
          const { roles } = await send<Member>(api, 200, owner, 'GET', `/api/servers/${server.id}/members/${member.id}`);
          return roles.includes(role.id) === has;
        },
        has ? 'the role' : 'no role',
      );
    const react = (method: 'PUT' | 'DELETE') => send(api, 204, member, method, reactionPath(id, '🔴'));
    await waitUntil(async () => (await readMessage(id)).reactions.length === 1, 'the reaction of the bot');
    await react('PUT');
    await awaitRole(true);
    await react('DELETE');
    await awaitRole(false);
    await program.stop();
    await react('PUT');
    const resumed = await run(file, env());
    await awaitRole(true);
    await resumed.stop();
    await react('DELETE');
    const again = await run(file, env());
    await awaitRole(false);
    await again.stop();
    await react('PUT');
    await run(file, { ...env(), SESSION_FILE: 'another-session.json' }); // as if the bot was away for too long
    await awaitRole(true);
    await invoke('role', { role: role.id }, says(/^You have the role no more\.$/), member);
    await awaitRole(false);
    await invoke('role', { role: strong.id }, says(/^That role is in no menu/), member);
  }

  /** Shows an answer of two messages while it is written, in order, and is never refused because of its rate. */
  async function streams(): Promise<void> {
    const watch = await recordEvents(api, owner.token);
    const { id } = await invoke('ask', { question: 'Why?' }, says(/^…$/));
    await waitUntil(() => Promise.resolve(model.isAsked()), 'the question');
    let text = '';
    const write = (number: number): void => {
      const piece = `${text === '' ? '' : ' '}Sentence ${number} of a long answer.`;
      text += piece;
      model.say(piece);
    };
    for (let number = 1; number <= 6; number++) {
      write(number);
      await waitUntil(async () => (await readMessage(id)).content === text, `sentence ${number}`);
    }
    for (let number = 7; number <= 90; number++) write(number);
    model.end();
    const pages = [text.slice(0, 2_000), text.slice(2_000)];
    const { d: second } = await watch.waitFor(({ d }) => (d as unknown as Message).content === pages[1]);
    expect((await readMessage(id)).content).to.equal(pages[0]);
    expect((await readMessage(String(second.id))).content).to.equal(pages[1]);
    const shown = watch.received.filter(({ d }) => d.id === id).map(({ d }) => (d as unknown as Message).content);
    expect(shown.shift()).to.equal('…');
    expect(shown.length, 'as many edits as the text grew in steps, or more').to.be.greaterThan(6);
    for (const [at, content] of shown.entries()) expect(content.startsWith(shown[at - 1] ?? ''), `edit ${at}`).to.equal(true);
    expect(proxy.statuses.filter((status) => status >= 400)).to.deep.equal([]);
    await watch.client.close();
  }

  /** Creates a webhook for a repository by a command over HTTPS, and lists what came; only for people who may. Refuses what Parlance has not signed. */
  async function connectsRepository(): Promise<void> {
    await withEndpoint(async () => {
      await invoke('connect', { name: 'a/b' }, says(/^You need the permission Manage Webhooks\.$/), member);
      const { content, ephemeral } = await invoke('connect', { name: 'a/b' }, says(/\/codehost$/));
      expect(ephemeral).to.equal(true);
      const repository = { full_name: 'a/b', html_url: 'https://x.example/a/b' };
      const isShown = ({ author, embeds }: Message): boolean => author.username === 'a/b' && embeds.length > 0;
      await answer(() => deliver(content, 'ping', { zen: 'Keep it simple.', repository, hook: { type: 'Repository' } }), isShown);
      const issue = { number: 7, title: 'The hinge squeaks', html_url: 'https://x.example/a/b/issues/7', body: '' };
      const opened = { action: 'opened', repository, issue, sender: { login: 'anna' } };
      expect(JSON.stringify(await answer(() => deliver(content, 'issues', opened), isShown))).to.contain('The hinge squeaks');
      expect((await deliver(content, 'watch', { action: 'started', repository })).status).to.equal(204);
      const wanted = /^\*\*a\/b\*\*\n- watch started: ignored \(.+\)\n- issues opened: posted\n- ping: posted$/;
      await waitUntil(async () => wanted.test((await invoke('deliveries', {}, says(/a\/b/))).content), 'the deliveries');
      await invoke('deliveries', {}, says(/^You need the permission Manage Webhooks\.$/), member);
    });
    expect(await Promise.all([postPing(bot.signingSecret, 0), postPing(bot.signingSecret, 310), postPing('another', 0)])).to.deep.equal([
      200, 401, 401,
    ]);
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
    streaming: () => ({ MODEL_URL: model.url, PARLANCE_URL: proxy.url, PAUSE: '0.02' }),
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
    ['moderates, for moderators only', 'moderator.mjs', () => ({}), moderates],
    ['counts votes and posts the result, also after a restart', 'poll.mjs', () => ({}), polls],
    ['gives and takes roles, also after a restart', 'role-menu.mjs', () => ({}), givesRoles],
    ['shows a long answer while it is written', 'streaming.mjs', settings.streaming, streams],
    ['connects a repository over HTTPS', 'repository.mjs', () => ({}), connectsRepository],
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
