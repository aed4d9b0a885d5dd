import { expect } from 'chai';
import type { PickerCommand } from '../../lib/contract/command.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import { type Caller, makePerson, refused, send } from '../harness/factories.ts';
import { type Scene, startScene, until } from '../harness/scene.ts';

describe('slash commands in DMs', () => {
  let scene: Scene;
  let person: Caller;
  let other: Caller;
  let stranger: Caller;
  let dm: DmChannel;
  const option = (name: string, type: string) => ({ name, description: 'x', type: type as 'string' });
  const caller = (id: string, kind: 'Bot' | 'Bearer', token: string): Caller => ({ id, username: id, token, as: `${kind} ${token}` });
  before(async () => {
    scene = await startScene();
    const [, second] = scene.world.bots;
    person = caller(scene.world.ownerId, 'Bearer', scene.world.ownerToken);
    other = caller(String(second?.id), 'Bot', String(second?.token));
    stranger = await makePerson(scene.api);
    await scene.register([
      { name: 'hello', description: 'x' },
      { name: 'bang', kind: 'prefix', prefix: '!' },
      {
        name: 'who',
        description: 'x',
        options: [option('whom', 'user'), option('role', 'role'), option('where', 'channel'), option('text', 'string')],
      },
    ]);
    const here = `/api/applications/${scene.bot.applicationId}/servers/${scene.world.serverId}/commands`;
    await send(scene.api, 200, caller(scene.bot.id, 'Bot', scene.bot.token), 'PUT', here, [{ name: 'local', description: 'x' }]);
    await send(scene.api, 200, other, 'PUT', `/api/applications/${second?.applicationId}/commands`, [{ name: 'theirs', description: 'x' }]);
    dm = await send(scene.api, 201, person, 'POST', '/api/users/@me/channels', { recipientId: scene.bot.id });
  });
  after(() => scene.close());

  const pathOf = (command: string, channelId = dm.id): string =>
    `/api/channels/${channelId}/commands/${scene.commands[command] ?? command}/invoke`;
  /** Uses a command in the DM; its time is put off by a minute, so that no test races with the clock. */
  const use = async (command = 'hello', body: object = {}): Promise<string> => {
    const { id } = await send<{ id: string }>(scene.api, 202, person, 'POST', pathOf(command), body);
    await scene.age(id, -60_000);
    return id;
  };
  const deliver = (id: string): Promise<void> => relay(scene.worker, 'interaction', id);
  const pick = (as: Caller, channelId = dm.id): Promise<PickerCommand[]> =>
    send(scene.api, 200, as, 'GET', `/api/channels/${channelId}/commands`);
  const names = (found: readonly { name: string }[]): string[] => found.map(({ name }) => name);
  const messages = () => scene.api.platform.db.messages.find({ channelId: dm.id }).sort({ _id: 1 }).lean();
  const withoutServer = async (act: () => Promise<unknown>): Promise<void> => {
    const { db, versions } = scene.api.platform;
    const serverId = scene.world.serverId;
    const member = await db.members.findOne({ _id: `${serverId}:${person.id}` }).lean();
    const change = (write: () => Promise<unknown>) => versions.changing({ servers: [serverId], accounts: [person.id] }, write);
    await change(async () => db.members.deleteOne({ _id: `${serverId}:${person.id}` }));
    try {
      await act();
    } finally {
      await change(() => db.members.insertMany([member as never]));
    }
  };

  describe('GET /api/channels/{channelId}/commands', () => {
    it('lists the commands of everywhere of the bot, slash and prefix, and no others', async () => {
      const found = await pick(person);
      expect(names(found)).to.deep.equal(['bang', 'hello', 'who']);
      expect(new Set(found.map(({ application }) => application.id))).to.deep.equal(new Set([scene.bot.applicationId]));
    });

    it('shows each of two bots the other’s; 404 to anybody else', async () => {
      expect(await pick(caller(scene.bot.id, 'Bot', scene.bot.token))).to.deep.equal([]);
      const between = await send<DmChannel>(scene.api, 201, other, 'POST', '/api/users/@me/channels', { recipientId: scene.bot.id });
      expect(names(await pick(other, between.id))).to.deep.equal(['bang', 'hello', 'who']);
      expect(names(await pick(caller(scene.bot.id, 'Bot', scene.bot.token), between.id))).to.deep.equal(['theirs']);
      for (const as of [other, stranger]) await refused(scene.api, [404, 'not_found'], as, 'GET', `/api/channels/${dm.id}/commands`);
    });
  });

  describe('POST /api/channels/{channelId}/commands/{commandId}/invoke', () => {
    it('202; the bot gets it with serverId null and no roles', async () => {
      const id = await use('who', { text: `text: hi whom: <@${scene.bot.id}>` });
      const known = (await scene.botEvents()).length;
      await deliver(id);
      const { name, data } = (await scene.botEvents())[known] ?? { name: '', data: {} };
      expect(name).to.equal('INTERACTION_CREATE');
      expect(data).to.include({ type: 'command', id, channelId: dm.id, serverId: null, applicationId: scene.bot.applicationId });
      expect(data.user).to.deep.include({ id: person.id, roles: [] });
      expect((data.data as { options: unknown }).options).to.deep.equal([
        { name: 'whom', type: 'user', value: scene.bot.id },
        { name: 'text', type: 'string', value: 'hi' },
      ]);
    });

    it('a user option is one of the two; roles and channels there are none: 400 invalid_options by name', async () => {
      await use('who', { options: [{ name: 'whom', value: person.id }] });
      const bad: [name: string, value: string][] = [
        ['whom', other.id],
        ['whom', stranger.id],
        ['role', scene.world.serverId],
        ['where', scene.channelId],
        ['where', dm.id],
      ];
      for (const [name, value] of bad) {
        const { errors } = await refused(scene.api, [400, 'invalid_options'], person, 'POST', pathOf('who'), {
          options: [{ name, value }],
        });
        expect(errors?.map(({ path }) => path)).to.deep.equal([name]);
      }
    });

    it('404 for a command of a server, of another bot, and in the DM of others; 400 for a prefix command', async () => {
      const { db } = scene.api.platform;
      const idOf = async (name: string) =>
        (await db.commands.findOne({ 'commands.name': name }).lean())?.commands.find((one) => one.name === name)?.id;
      for (const name of ['local', 'theirs'])
        await refused(scene.api, [404, 'not_found'], person, 'POST', pathOf(String(await idOf(name))));
      await refused(scene.api, [404, 'not_found'], stranger, 'POST', pathOf('hello'));
      await refused(scene.api, [400, 'invalid_request'], person, 'POST', pathOf('bang'));
    });

    it('403 no_shared_server when the two share none any more; the answer to a use of before still comes', async () => {
      const id = await use();
      await withoutServer(async () => {
        await refused(scene.api, [403, 'no_shared_server'], person, 'POST', pathOf('hello'));
        expect(names(await pick(person))).to.deep.equal(['bang', 'hello', 'who']);
        expect((await scene.send('callback', id, { type: 'message', content: 'late' })).status).to.equal(201);
      });
    });

    it('409 bot_offline without a live socket, and nothing is made', async () => {
      const before = await scene.api.platform.db.interactions.countDocuments();
      await scene.disconnect();
      await refused(scene.api, [409, 'bot_offline'], person, 'POST', pathOf('hello'));
      expect(await scene.api.platform.db.interactions.countDocuments()).to.equal(before);
      await scene.connect();
    });
  });

  describe('answers', () => {
    it('a message stands in the DM with the line above it, and moves lastMessageId', async () => {
      const id = await use();
      const { status, body } = await scene.send('callback', id, { type: 'message', content: 'hi <@&1> @everyone' });
      expect(status).to.equal(201);
      expect(body).to.include({ channelId: dm.id, mentionEveryone: false }).and.not.have.property('serverId');
      expect(body.interaction).to.deep.include({ name: 'hello' });
      expect((body.interaction as { user: { id: string } }).user.id).to.equal(person.id);
      const [listed] = await send<DmChannel[]>(scene.api, 200, person, 'GET', '/api/users/@me/channels');
      expect([listed?.id, listed?.lastMessageId]).to.deep.equal([dm.id, body.id]);
      expect(await send(scene.api, 200, person, 'GET', `/api/interactions/${id}`)).to.deep.include({
        state: 'answered',
        messageId: body.id,
        channelId: dm.id,
      });
    });

    it('both are told of the message, the person alone of the state', async () => {
      const id = await use();
      await deliver(id);
      const known = (await scene.botEvents()).length;
      scene.personal.length = 0;
      const { body } = await scene.send('callback', id, { type: 'message', content: 'x' });
      await deliver(id);
      await relay(scene.worker, 'channel', dm.id);
      const mine = () => scene.personal.filter(({ data }) => data.id === id || data.id === body.id);
      await until(() => mine().length === 2, 'both events');
      expect(mine().map(({ name }) => name)).to.have.members(['INTERACTION_UPDATE', 'MESSAGE_CREATE']);
      expect(mine().find(({ name }) => name === 'INTERACTION_UPDATE')?.data).to.deep.equal({ id, channelId: dm.id, state: 'answered' });
      const told = (await scene.botEvents()).slice(known).filter(({ data }) => data.channelId === dm.id && data.id === body.id);
      expect(told.map(({ name }) => name)).to.deep.equal(['MESSAGE_CREATE']);
      expect(told[0]?.data).to.not.have.property('serverId');
    });

    it('defer, follow-ups and edits of the original work as in a channel', async () => {
      const id = await use();
      expect((await scene.send('callback', id, { type: 'defer' })).status).to.equal(204);
      const first = await scene.send('followup', id, { content: 'first' });
      const more = await scene.send('followup', id, { content: 'more' });
      const original = `/api/interactions/${id}/${scene.tokenOf(id)}/original`;
      expect((await scene.api.call('PATCH', original, { body: { content: 'edited' } })).body).to.include({
        id: first.body.id,
        content: 'edited',
      });
      expect((await scene.api.call('DELETE', original)).status).to.equal(204);
      const left = (await messages()).filter(({ interaction, deleted }) => interaction?.id === id && !deleted);
      expect(left.map(({ _id }) => _id)).to.deep.equal([more.body.id]);
    });

    it('an ephemeral one is shown to the person only and stored nowhere', async () => {
      const id = await use();
      await deliver(id);
      const [before, known] = [await messages(), (await scene.botEvents()).length];
      scene.personal.length = 0;
      const { body } = await scene.send('callback', id, { type: 'message', content: 'secret', ephemeral: true });
      await deliver(id);
      await until(() => scene.personal.length === 2, 'both events');
      expect(scene.personal[0]).to.deep.equal({ name: 'MESSAGE_CREATE', data: body });
      expect(body).to.include({ ephemeral: true }).and.not.have.property('serverId');
      expect(await messages()).to.deep.equal(before);
      expect(await scene.botEvents()).to.have.length(known);
    });

    it('none in 3 s: it expires, and the person is told', async () => {
      const id = await use();
      await scene.age(id, 3_000);
      await deliver(id);
      await until(() => scene.personal.some(({ data }) => data.id === id && data.state === 'expired'), 'INTERACTION_UPDATE');
    });
  });
});
