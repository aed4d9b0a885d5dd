import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Command } from '../../../lib/contract/command.ts';
import {
  authorize,
  type Bot,
  type Caller,
  makeApplication,
  makeChannel,
  makeMember,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
} from '../../harness/factories.ts';
import { type Scene, startScene } from '../../harness/scene.ts';

describe('using commands: where and which', () => {
  let scene: Scene;
  let owner: Caller;
  let bot: Bot;
  let member: Caller;
  let second: Place;
  before(async () => {
    scene = await startScene();
    const { api, world } = scene;
    owner = { id: world.ownerId, username: 'owner', token: world.ownerToken, as: scene.asPerson };
    bot = { ...scene.bot, username: 'app 0', as: scene.asBot, signingSecret: '' };
    member = await makeMember(api, owner, world.serverId);
    await scene.register([
      { name: 'hello', description: 'x' },
      { name: 'bang', kind: 'prefix', prefix: '!' },
      {
        name: 'pair',
        description: 'x',
        options: [
          { name: 'must', description: 'x', required: true },
          { name: 'may', description: 'x' },
        ],
      },
    ]);
    second = await makeServer(api, owner);
    await authorize(api, owner, bot, second.id);
  });
  after(() => scene.close());

  const pathOf = (command: string, channelId = scene.channelId): string =>
    `/api/channels/${channelId}/commands/${scene.commands[command] ?? command}/invoke`;
  const use = (command = 'hello', channelId = scene.channelId, as = member, body: unknown = {}) =>
    send<{ id: string; state: string }>(scene.api, 202, as, 'POST', pathOf(command, channelId), body);
  /** Expects a refusal that leaves nothing behind and of which the bot is told nothing. */
  const refuses = async (answer: readonly [number, string], ...[command, channelId, as = member, body = {}]: Parameters<typeof use>) => {
    const before = await scene.snapshot();
    const error = await refused(scene.api, answer, as, 'POST', pathOf(String(command), channelId), body);
    expect(await scene.snapshot()).to.equal(before);
    return error;
  };
  const channel = async (input = {}) => (await makeChannel(scene.api, owner, scene.world.serverId, input)).id;
  const put = async (as: Bot, name: string, serverId?: string): Promise<string> => {
    const scope = `/api/applications/${as.applicationId}${serverId ? `/servers/${serverId}` : ''}/commands`;
    return String((await send<Command[]>(scene.api, 200, as, 'PUT', scope, [{ name, description: 'x' }]))[0]?.id);
  };

  it('202 in a thread, also in an archived one, which the use does not unarchive', async () => {
    const thread = await send<Channel>(scene.api, 201, member, 'POST', `/api/channels/${scene.channelId}/threads`, { name: 'thread' });
    await use('hello', thread.id);
    await send(scene.api, 200, owner, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
    const { id } = await use('hello', thread.id);
    expect(await scene.stored(id)).to.include({ channelId: thread.id, serverId: scene.world.serverId, userId: member.id });
    expect((await send<Channel>(scene.api, 200, member, 'GET', `/api/channels/${thread.id}`)).archived).to.equal(true);
  });

  it('a thread asks for what its parent does', async () => {
    const parent = await channel();
    const thread = await send<Channel>(scene.api, 201, member, 'POST', `/api/channels/${parent}/threads`, { name: 'thread' });
    await setOverwrite(scene.api, owner, parent, member.id, 0, 2);
    expect((await refuses([403, 'missing_permission'], 'hello', thread.id)).missing).to.deep.equal(['Send Messages']);
    await setOverwrite(scene.api, owner, parent, bot.id, 0, 1);
    await refuses([404, 'not_found'], 'hello', thread.id, owner);
  });

  it('slow mode does not count uses, nor does a use take the turn of a message', async () => {
    const slow = await channel();
    await send(scene.api, 200, owner, 'PATCH', `/api/channels/${slow}`, { slowmodeSecs: 21_600 });
    await use('hello', slow);
    await use('hello', slow);
    await send(scene.api, 201, member, 'POST', `/api/channels/${slow}/messages`, { content: 'first' });
    await refused(scene.api, [429, 'slowmode'], member, 'POST', `/api/channels/${slow}/messages`, { content: 'second' });
    await use('hello', slow);
  });

  it('202 in an announcement channel, 400 in a category and a voice channel', async () => {
    await use('hello', await channel({ kind: 'announcement' }));
    for (const kind of ['category', 'voice'] as const) await refuses([400, 'invalid_request'], 'hello', await channel({ kind }));
  });

  it('404 for a command of another server’s list, 202 where it holds', async () => {
    const local = await put(bot, 'local', second.id);
    await refuses([404, 'not_found'], local, scene.channelId, owner);
    await use(local, second.general, owner);
    await use('hello', second.general, owner);
  });

  it('404 for a command of a bot that is in another server only, or in none', async () => {
    const other = await makeApplication(scene.api, owner);
    const theirs = await put(other, 'theirs');
    await refuses([404, 'not_found'], theirs, scene.channelId, owner);
    await authorize(scene.api, owner, other, second.id);
    await refuses([404, 'not_found'], theirs, scene.channelId, owner);
    // It has no connection: what is known is told as offline, not as unknown.
    await refuses([409, 'bot_offline'], theirs, second.general, owner);
  });

  it('400 for a prefix command: it is posted as a message', async () => {
    await refuses([400, 'invalid_request'], 'bang');
    await refuses([400, 'invalid_request'], 'bang', scene.channelId, member, { text: 'now' });
  });

  it('403 bots_not_allowed for any bot, 404 for who is outside, and for what is no channel', async () => {
    const other = { ...bot, as: `Bot ${scene.world.bots[1]?.token}` };
    for (const as of [bot, other]) await refuses([403, 'bots_not_allowed'], 'hello', scene.channelId, as);
    await refuses([404, 'not_found'], 'hello', second.general, member);
    for (const id of ['x', scene.world.serverId, '%24ne']) await refuses([404, 'not_found'], 'hello', id);
  });

  const options = (...pairs: [string, unknown][]) => ({ options: pairs.map(([name, value]) => ({ name, value })) });
  const faults: [about: string, body: unknown, ...paths: string[]][] = [
    ['required and missing, nothing sent', {}, 'must'],
    ['required and missing, in text', { text: 'may: x' }, 'must'],
    ['required and missing, one by one', options(['may', 'x']), 'must'],
    ['required and empty', { text: 'must: may: x' }, 'must'],
    ['unknown, beside required', options(['must', 'x'], ['constructor', 1]), 'constructor'],
    ['every fault at once', options(['may', 1], ['zz', 1], ['may', 'x']), 'may', 'zz', 'must'],
    ['bare text', { text: 'just text' }, '/text', 'must'],
    ['text with an unknown name first', { text: 'other: x must: y' }, 'other'],
  ];
  for (const [about, body, ...paths] of faults)
    it(`400 invalid_options: ${about}`, async () => {
      const { errors } = await refuses([400, 'invalid_options'], 'pair', scene.channelId, member, body);
      expect(errors?.map(({ path }) => path)).to.deep.equal(paths);
    });

  const malformed: [about: string, body: unknown][] = [
    ['a value that is null', options(['must', null])],
    ['a value that is a list', options(['must', ['x']])],
    ['a name that is null', '{ "options": [{ "name": null, "value": 1 }] }'],
    ['options that are an object', { options: { must: 'x' } }],
    ['options null', { options: null }],
    ['60,001 characters of text', { text: 'x'.repeat(60_001) }],
    ['a list', []],
  ];
  for (const [about, body] of malformed)
    it(`400 invalid_request: ${about}`, () => refuses([400, 'invalid_request'], 'pair', scene.channelId, member, body));

  it('values go to the bot in the command’s order; what is not filled in is left out', async () => {
    const stored = async (body: unknown) => (await scene.stored((await use('pair', scene.channelId, member, body)).id)).options;
    const both = ['must', 'may'].map((name) => ({ name, type: 'string', value: 'x' }));
    expect(await stored({ text: 'may: x must: x' })).to.deep.equal(both);
    expect(await stored(options(['may', 'x'], ['must', 'x']))).to.deep.equal(both);
    expect(await stored({ text: 'must: x' })).to.deep.equal(both.slice(0, 1));
  });

  it('a repeat with its Idempotency-Key answers the first use, though the command is gone; one that was refused may be tried again', async () => {
    const once = await put(bot, 'once', second.id);
    const call = (key: string, body: unknown) =>
      scene.api.call('POST', pathOf(once, second.general), { as: owner.as, body, headers: { 'Idempotency-Key': key } });
    expect((await call('b', { text: 'x' })).status).to.equal(400);
    expect((await call('b', {})).status).to.equal(202);
    const first = await call('a', {});
    await put(bot, 'other', second.id);
    const before = await scene.snapshot();
    expect(await call('a', {})).to.deep.include({ status: 202, body: first.body });
    expect(await scene.snapshot()).to.equal(before);
    expect((await call('c', {})).status).to.equal(404);
  });
});
