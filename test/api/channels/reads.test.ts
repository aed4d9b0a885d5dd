import { expect } from 'chai';
import { idOf } from '../../../lib/base/ids.ts';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { ReadState } from '../../../lib/contract/read.ts';
import { newChannel } from '../../../lib/domain/channels/channels.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  giveRole,
  join,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
} from '../../harness/factories.ts';
import { until } from '../../harness/scene.ts';

describe('read marks', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let me: Caller;
  let bot: Bot;

  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    me = await makeMember(api, owner, server.id);
    bot = await makeBot(api, owner, server.id, permissionBits['Mention Everyone']);
  });
  after(() => api.close());

  const post = async (channelId: string, content = 'x', as: Caller = bot, more: object = {}): Promise<string> =>
    (await send<{ id: string }>(api, 201, as, 'POST', `/api/channels/${channelId}/messages`, { content, ...more })).id;
  const mark = (channelId: string, messageId: string, as: Caller = me): Promise<void> =>
    send(api, 204, as, 'PUT', `/api/channels/${channelId}/read`, { messageId });
  const reads = (as: Caller = me): Promise<ReadState[]> => send(api, 200, as, 'GET', '/api/users/@me/reads');
  const stateOf = async (channelId: string, as: Caller = me): Promise<ReadState | undefined> =>
    (await reads(as)).find((one) => one.channelId === channelId);
  const channel = async (): Promise<string> => (await makeChannel(api, owner, server.id)).id;

  describe('PUT /api/channels/{id}/read', () => {
    it('204, and the mark never goes back, also when many come at once', async () => {
      const id = await channel();
      const ids: string[] = [];
      for (let n = 0; n < 30; n++) ids.push(await post(id));
      for (let round = 0; round < 5; round++) {
        await api.platform.db.reads.deleteMany({ channelId: id });
        await Promise.all(ids.toSorted(() => Math.random() - 0.5).map((one) => mark(id, one)));
        expect((await stateOf(id))?.readMessageId).to.equal(ids.at(-1));
        expect(await api.platform.db.reads.countDocuments({ channelId: id })).to.equal(1);
      }
      await mark(id, ids[3] as string);
      expect((await stateOf(id))?.readMessageId).to.equal(ids.at(-1));
    });

    it('204 for a message that is gone or never was', async () => {
      const id = await channel();
      const gone = await post(id);
      await send(api, 204, bot, 'DELETE', `/api/channels/${id}/messages/${gone}`);
      await mark(id, gone);
      expect(await stateOf(id)).to.deep.equal({ channelId: id, readMessageId: gone, lastMessageId: null, mentions: 0 });
      await mark(id, idOf(Date.now(), 0, 0));
    });

    for (const [what, body] of [
      ['no message', {}],
      ['null', { messageId: null }],
      ['a number', { messageId: 5 }],
      ['what is no id', { messageId: 'x' }],
      ['an id of the future', { messageId: '9999999999999999999' }],
      ['an id of tomorrow', { messageId: idOf(Date.now() + 86_400_000, 0, 0) }],
    ] as const)
      it(`400 for ${what}`, async () => {
        const { errors } = await refused(api, [400, 'invalid_request'], me, 'PUT', `/api/channels/${server.general}/read`, body);
        expect(errors?.[0]?.path).to.equal('/messageId');
      });

    it('refuses: 403 bots, 403 without View Channel, 404 outside, 400 in a voice channel; Send Messages is not needed', async () => {
      const body = { messageId: await post(server.general) };
      await refused(api, [403, 'bots_not_allowed'], bot, 'PUT', `/api/channels/${server.general}/read`, body);
      await refused(api, [404, 'not_found'], await makePerson(api), 'PUT', `/api/channels/${server.general}/read`, body);
      const id = await channel();
      await setOverwrite(api, owner, id, server.id, 0, permissionBits['Send Messages']);
      await mark(id, body.messageId);
      await setOverwrite(api, owner, id, server.id, 0, permissionBits['View Channel']);
      const { missing } = await refused(api, [403, 'missing_permission'], me, 'PUT', `/api/channels/${id}/read`, body);
      expect(missing).to.deep.equal(['View Channel']);
      const voice = await makeChannel(api, owner, server.id, { kind: 'voice' });
      await refused(api, [400, 'invalid_request'], me, 'PUT', `/api/channels/${voice.id}/read`, body);
    });
  });

  describe('GET /api/users/@me/reads', () => {
    it('403 for bots, 401 without a credential, [] for who is nowhere', async () => {
      await refused(api, [403, 'bots_not_allowed'], bot, 'GET', '/api/users/@me/reads');
      await refused(api, [401, 'unauthorized'], null, 'GET', '/api/users/@me/reads');
      expect(await reads(await makePerson(api))).to.deep.equal([]);
    });

    it('every text and announcement channel that one may view, newest message first; no voice, no category, none of others', async () => {
      const fresh = await makePerson(api);
      const place = await makeServer(api, owner);
      await join(api, owner, place.id, fresh);
      await makeServer(api, owner);
      const news = await makeChannel(api, owner, place.id, { kind: 'announcement' });
      for (const kind of ['voice', 'category'] as const) await makeChannel(api, owner, place.id, { kind });
      const hidden = await makeChannel(api, owner, place.id);
      await setOverwrite(api, owner, hidden.id, place.id, 0, permissionBits['View Channel']);
      const [first, second] = [await post(place.general, 'x', owner), await post(news.id, 'x', owner)];
      await post(hidden.id, 'x', owner);
      expect(await reads(fresh)).to.deep.equal([
        { channelId: news.id, readMessageId: null, lastMessageId: second, mentions: 0 },
        { channelId: place.general, readMessageId: null, lastMessageId: first, mentions: 0 },
      ]);
      await setOverwrite(api, owner, hidden.id, fresh.id, permissionBits['View Channel'], 0);
      expect((await reads(fresh)).map((one) => one.channelId)).to.deep.equal([hidden.id, news.id, place.general]);
      await send(api, 204, fresh, 'DELETE', `/api/users/@me/servers/${place.id}`);
      expect(await reads(fresh)).to.deep.equal([]);
    });

    it('counts unread mentions by id, role and everyone, of others, after the mark', async () => {
      const id = await channel();
      const role = await makeRole(api, owner, server.id);
      const foreign = await makeRole(api, owner, server.id);
      await giveRole(api, owner, server.id, me.id, role.id);
      const mine = await post(id, 'mine', me);
      const before = await post(id, `<@${me.id}>`);
      for (const content of [`<@${me.id}>`, `a <@&${role.id}>`, '@everyone', '@here']) await post(id, content);
      await post(id, 'reply', bot, { replyTo: mine });
      expect((await stateOf(id))?.mentions, 'never read: all since joining').to.equal(6);
      await mark(id, before);
      expect((await stateOf(id))?.mentions).to.equal(5);
      for (const content of ['nobody', `<@${owner.id}>`, `<@&${foreign.id}>`, `\`<@${me.id}>\``]) await post(id, content);
      await post(id, 'quiet', bot, { replyTo: mine, mentionReply: false });
      const state = await stateOf(id);
      expect(state?.mentions).to.equal(5);
      await mark(id, state?.lastMessageId as string);
      expect(await stateOf(id)).to.deep.equal({
        channelId: id,
        readMessageId: state?.lastMessageId,
        lastMessageId: state?.lastMessageId,
        mentions: 0,
      });
    });

    it('an own post is read, and what is before it; a bot has no mark', async () => {
      const id = await channel();
      await post(id, `<@${me.id}>`);
      const own = await post(id, `<@${me.id}> @everyone`, me);
      await until(async () => (await stateOf(id))?.readMessageId === own, 'the mark');
      expect(await stateOf(id)).to.deep.equal({ channelId: id, readMessageId: own, lastMessageId: own, mentions: 0 });
      const next = await post(id, 'more');
      expect(await stateOf(id)).to.deep.equal({ channelId: id, readMessageId: own, lastMessageId: next, mentions: 0 });
      expect(await api.platform.db.reads.countDocuments({ channelId: id })).to.equal(1);
    });

    it('follows edits and deletes, and begins where the person joined', async () => {
      const id = await channel();
      await post(id, '@everyone');
      const late = await makeMember(api, owner, server.id);
      expect((await stateOf(id, late))?.mentions).to.equal(0);
      const [one, two] = [await post(id, 'a'), await post(id, '@everyone')];
      expect((await stateOf(id, late))?.mentions).to.equal(1);
      await send(api, 200, bot, 'PATCH', `/api/channels/${id}/messages/${one}`, { content: `<@${late.id}>` });
      expect((await stateOf(id, late))?.mentions).to.equal(2);
      await send(api, 200, bot, 'PATCH', `/api/channels/${id}/messages/${one}`, { content: 'nobody' });
      await send(api, 204, bot, 'DELETE', `/api/channels/${id}/messages/${two}`);
      expect(await api.platform.db.messages.countDocuments({ channelId: id, pings: true }), 'those that mention nobody any more').to.equal(
        1,
      );
      expect(await stateOf(id, late)).to.include({ mentions: 0, lastMessageId: one });
    });

    it('asks one query for messages however many channels are unread, and knows the newest after a delete', async () => {
      const person = await makeMember(api, owner, server.id);
      const places = await Promise.all(Array.from({ length: 6 }, channel));
      const last = await Promise.all(places.map((id) => post(id, `<@${person.id}>`)));
      await reads(person);
      const { messages } = api.platform.db;
      const asked: string[] = [];
      const [find, findOne] = [messages.find.bind(messages), messages.findOne.bind(messages)];
      const noting =
        (name: string, query: unknown) =>
        (...args: unknown[]): unknown => {
          const { channelId } = args[0] as { channelId: unknown };
          if (typeof channelId !== 'string' || places.includes(channelId)) asked.push(name);
          return (query as (...given: unknown[]) => unknown)(...args);
        };
      Object.assign(messages, { find: noting('find', find), findOne: noting('findOne', findOne) });
      try {
        const states = await reads(person);
        expect(states.filter(({ mentions }) => mentions === 1).map(({ channelId }) => channelId)).to.have.members(places);
        expect(asked).to.deep.equal(['find']);
      } finally {
        Object.assign(messages, { find, findOne });
      }
      await send(api, 204, owner, 'DELETE', `/api/channels/${places[0]}/messages/${last[0]}`);
      expect(await stateOf(places[0] as string, person)).to.include({ lastMessageId: null, mentions: 0 });
    });

    it('counts up to 99', async () => {
      const id = await channel();
      const first = await post(id);
      const [model] = await api.platform.db.messages.collection.find({ _id: first as never }).toArray();
      const copies = Array.from({ length: 120 }, () => ({ ...model, _id: api.platform.ids.next(), mentions: [me.id], pings: true }));
      await api.platform.db.messages.collection.insertMany(copies as never);
      expect((await stateOf(id))?.mentions).to.equal(99);
    });

    it('DMs of the two alone, and mentions there', async () => {
      const dm = await send<{ id: string }>(api, 201, me, 'POST', '/api/users/@me/channels', { recipientId: owner.id });
      expect(await stateOf(dm.id)).to.deep.equal({ channelId: dm.id, readMessageId: null, lastMessageId: null, mentions: 0 });
      const last = await post(dm.id, `<@${me.id}>`, owner);
      expect(await stateOf(dm.id)).to.deep.equal({ channelId: dm.id, readMessageId: null, lastMessageId: last, mentions: 1 });
      expect((await stateOf(dm.id, owner))?.mentions).to.equal(0);
      await mark(dm.id, last);
      expect((await stateOf(dm.id))?.mentions).to.equal(0);
      const other = await makeMember(api, owner, server.id);
      expect(await stateOf(dm.id, other)).to.equal(undefined);
      await refused(api, [404, 'not_found'], other, 'PUT', `/api/channels/${dm.id}/read`, { messageId: last });
    });

    it('threads marked once, unless archived, while their parent may be viewed', async () => {
      const parentId = await channel();
      const threadId = api.platform.ids.next();
      const fresh = { _id: threadId, serverId: server.id, kind: 'thread' as const, name: 't', position: 0, createdAt: new Date() };
      await api.platform.db.channels.collection.insertOne({ ...newChannel(fresh), parentId } as never);
      const last = await post(threadId, '@everyone');
      expect(await stateOf(threadId)).to.equal(undefined);
      await mark(threadId, threadId);
      expect(await stateOf(threadId)).to.deep.equal({ channelId: threadId, readMessageId: threadId, lastMessageId: last, mentions: 1 });
      await setOverwrite(api, owner, parentId, server.id, 0, permissionBits['View Channel']);
      expect(await stateOf(threadId)).to.equal(undefined);
      await setOverwrite(api, owner, parentId, server.id, 0, 0);
      await api.platform.db.channels.updateOne({ _id: threadId }, { $set: { archived: true } });
      expect(await stateOf(threadId)).to.equal(undefined);
    });
  });
});
