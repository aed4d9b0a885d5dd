import { expect } from 'chai';
import type { PickerCommand } from '../../lib/contract/command.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { option } from '../api/interactions/command-fixture.ts';
import { makePerson, openDm } from '../harness/factories.ts';
import { startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { type Caller, refused, send } from '../harness/requests.ts';
import { botOf } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';

describe('Interaction: slash commands in DMs', () => {
  const fixture = use(startInteractionFixture);
  const bot = make(async () => botOf(fixture.seeded));
  const otherBot = make(async () => botOf(fixture.seeded, 1));
  const person = make(async () => fixture.person);
  const stranger = make(() => makePerson(fixture.api));
  const dm = make(() => openDm(fixture.api, person, bot));
  before(async () => {
    await fixture.register([
      { name: 'hello', description: 'x' },
      { name: 'bang', kind: 'prefix', prefix: '!' },
      {
        name: 'who',
        description: 'x',
        options: [option('whom', 'user'), option('role', 'role'), option('where', 'channel'), option('text', 'string')],
      },
    ]);
    const serverCommands = `/api/applications/${bot.applicationId}/servers/${fixture.seeded.serverId}/commands`;
    await send(fixture.api, 200, bot, 'PUT', serverCommands, [{ name: 'local', description: 'x' }]);
    const otherCommands = `/api/applications/${otherBot.applicationId}/commands`;
    await send(fixture.api, 200, otherBot, 'PUT', otherCommands, [{ name: 'theirs', description: 'x' }]);
  });

  const pathOf = (command: string, channelId = dm.id): string =>
    `/api/channels/${channelId}/commands/${fixture.commands[command] ?? command}/invoke`;
  /** Uses a command in the DM, and adds a minute to its time, so that no test races with the clock. */
  const useInDm = async (command = 'hello', body: object = {}): Promise<string> => {
    const { id } = await send<{ id: string }>(fixture.api, 202, person, 'POST', pathOf(command), body);
    await fixture.age(id, -60_000);
    return id;
  };
  const runRelay = (id: string): Promise<void> => relayEvents(fixture.worker, 'interaction', id);
  const listCommands = (as: Caller, channelId = dm.id): Promise<PickerCommand[]> =>
    send(fixture.api, 200, as, 'GET', `/api/channels/${channelId}/commands`);
  const names = (found: readonly { name: string }[]): string[] => found.map(({ name }) => name);
  const messages = () => fixture.api.platform.db.messages.find({ channelId: dm.id }).sort({ _id: 1 }).toArray();
  const withoutServer = async (act: () => Promise<unknown>): Promise<void> => {
    const { db, accessVersions } = fixture.api.platform;
    const serverId = fixture.seeded.serverId;
    const member = await db.members.findOne({ _id: `${serverId}:${person.id}` });
    const change = (write: () => Promise<unknown>) => accessVersions.runChange({ servers: [serverId], accounts: [person.id] }, write);
    await change(async () => db.members.deleteOne({ _id: `${serverId}:${person.id}` }));
    try {
      await act();
    } finally {
      await change(() => db.members.insertMany([member as never]));
    }
  };

  describe('GET /api/channels/{channelId}/commands', () => {
    it('lists the bot’s global commands, slash and prefix, and no others', async () => {
      const found = await listCommands(person);
      expect(names(found)).to.deep.equal(['bang', 'hello', 'who']);
      expect(new Set(found.map(({ application }) => application.id))).to.deep.equal(new Set([bot.applicationId]));
    });

    it('lists the other bot’s commands in a DM of two bots', async () => {
      expect(await listCommands(bot)).to.deep.equal([]);
      const between = await openDm(fixture.api, otherBot, bot);
      expect(names(await listCommands(otherBot, between.id))).to.deep.equal(['bang', 'hello', 'who']);
      expect(names(await listCommands(bot, between.id))).to.deep.equal(['theirs']);
    });
  });

  describe('POST /api/channels/{channelId}/commands/{commandId}/invoke', () => {
    it('answers 202; the bot receives the interaction with serverId null and no roles', async () => {
      const id = await useInDm('who', { text: `text: hi whom: <@${bot.id}>` });
      const known = (await fixture.botEvents()).length;
      await runRelay(id);
      const { name, data } = (await fixture.botEvents())[known] ?? { name: '', data: {} };
      expect(name).to.equal('INTERACTION_CREATE');
      expect(data).to.include({ type: 'command', id, channelId: dm.id, serverId: null, applicationId: bot.applicationId });
      expect(data.user).to.deep.include({ id: person.id, roles: [] });
      expect((data.data as { options: unknown }).options).to.deep.equal([
        { name: 'whom', type: 'user', value: bot.id },
        { name: 'text', type: 'string', value: 'hi' },
      ]);
    });

    it('answers 400 invalid_options to a user outside the DM and to any role or channel', async () => {
      await useInDm('who', { options: [{ name: 'whom', value: person.id }] });
      const bad: [name: string, value: string][] = [
        ['whom', otherBot.id],
        ['whom', stranger.id],
        ['role', fixture.seeded.serverId],
        ['where', fixture.channelId],
        ['where', dm.id],
      ];
      for (const [name, value] of bad) {
        const { errors } = await refused(fixture.api, [400, 'invalid_options'], person, 'POST', pathOf('who'), {
          options: [{ name, value }],
        });
        expect(errors?.map(({ path }) => path)).to.deep.equal([name]);
      }
    });

    it('answers 404 to a server’s or another bot’s command, and 400 to a prefix command', async () => {
      const { db } = fixture.api.platform;
      const idOf = async (name: string) =>
        (await db.commands.findOne({ 'commands.name': name }))?.commands.find((one) => one.name === name)?.id;
      for (const name of ['local', 'theirs'])
        await refused(fixture.api, [404, 'not_found'], person, 'POST', pathOf(String(await idOf(name))));
      await refused(fixture.api, [400, 'invalid_request'], person, 'POST', pathOf('bang'));
    });

    it('answers 403 no_shared_server when the two no longer share a server; an earlier use can still be answered', async () => {
      const id = await useInDm();
      await withoutServer(async () => {
        await refused(fixture.api, [403, 'no_shared_server'], person, 'POST', pathOf('hello'));
        expect(names(await listCommands(person))).to.deep.equal(['bang', 'hello', 'who']);
        expect((await fixture.send('callback', id, { type: 'message', content: 'late' })).status).to.equal(201);
      });
    });

    it('answers 409 bot_offline while the bot is not connected, and stores nothing', async () => {
      const before = await fixture.api.platform.db.interactions.countDocuments();
      await fixture.disconnect();
      await refused(fixture.api, [409, 'bot_offline'], person, 'POST', pathOf('hello'));
      expect(await fixture.api.platform.db.interactions.countDocuments()).to.equal(before);
      await fixture.connect();
    });
  });

  describe('answers', () => {
    it('a message is posted to the DM with the line above it, and updates lastMessageId', async () => {
      const id = await useInDm();
      const { status, body } = await fixture.send('callback', id, { type: 'message', content: 'hi <@&1> @everyone' });
      expect(status).to.equal(201);
      expect(body).to.include({ channelId: dm.id, mentionEveryone: false }).and.not.have.property('serverId');
      expect(body.interaction).to.deep.include({ name: 'hello' });
      expect((body.interaction as { user: { id: string } }).user.id).to.equal(person.id);
      const [listed] = await send<DmChannel[]>(fixture.api, 200, person, 'GET', '/api/users/@me/channels');
      expect([listed?.id, listed?.lastMessageId]).to.deep.equal([dm.id, body.id]);
      expect(await send(fixture.api, 200, person, 'GET', `/api/interactions/${id}`)).to.deep.include({
        state: 'answered',
        messageId: body.id,
        channelId: dm.id,
      });
    });

    it('both receive the message, only the person receives the state', async () => {
      const id = await useInDm();
      await runRelay(id);
      const known = (await fixture.botEvents()).length;
      fixture.personal.length = 0;
      const { body } = await fixture.send('callback', id, { type: 'message', content: 'x' });
      await runRelay(id);
      await relayEvents(fixture.worker, 'channel', dm.id);
      const received = () => fixture.personal.filter(({ data }) => data.id === id || data.id === body.id);
      await waitUntil(() => received().length === 2, 'both events');
      expect(received().map(({ name }) => name)).to.have.members(['INTERACTION_UPDATE', 'MESSAGE_CREATE']);
      expect(received().find(({ name }) => name === 'INTERACTION_UPDATE')?.data).to.deep.equal({ id, channelId: dm.id, state: 'answered' });
      const botEvents = (await fixture.botEvents()).slice(known).filter(({ data }) => data.channelId === dm.id && data.id === body.id);
      expect(botEvents.map(({ name }) => name)).to.deep.equal(['MESSAGE_CREATE']);
      expect(botEvents[0]?.data).to.not.have.property('serverId');
    });

    it('defer, follow-ups and edits of the original work as in a server', async () => {
      const id = await useInDm();
      expect((await fixture.send('callback', id, { type: 'defer' })).status).to.equal(204);
      const first = await fixture.send('followup', id, { content: 'first' });
      const more = await fixture.send('followup', id, { content: 'more' });
      const original = `/api/interactions/${id}/${fixture.tokenOf(id)}/original`;
      expect((await fixture.api.call('PATCH', original, { body: { content: 'edited' } })).body).to.include({
        id: first.body.id,
        content: 'edited',
      });
      expect((await fixture.api.call('DELETE', original)).status).to.equal(204);
      const left = (await messages()).filter(({ interaction, deleted }) => interaction?.id === id && !deleted);
      expect(left.map(({ _id }) => _id)).to.deep.equal([more.body.id]);
    });

    it('an ephemeral answer is sent only to the person and is not stored', async () => {
      const id = await useInDm();
      await runRelay(id);
      const [before, known] = [await messages(), (await fixture.botEvents()).length];
      fixture.personal.length = 0;
      const { body } = await fixture.send('callback', id, { type: 'message', content: 'secret', ephemeral: true });
      await runRelay(id);
      await waitUntil(() => fixture.personal.length === 2, 'both events');
      expect(fixture.personal[0]).to.deep.equal({ name: 'MESSAGE_CREATE', data: body });
      expect(body).to.include({ ephemeral: true }).and.not.have.property('serverId');
      expect(await messages()).to.deep.equal(before);
      expect(await fixture.botEvents()).to.have.length(known);
    });

    it('without an answer in 3 s it expires, and the person receives the state', async () => {
      const id = await useInDm();
      await fixture.age(id, 3_000);
      await runRelay(id);
      await waitUntil(() => fixture.personal.some(({ data }) => data.id === id && data.state === 'expired'), 'INTERACTION_UPDATE');
    });
  });
});
