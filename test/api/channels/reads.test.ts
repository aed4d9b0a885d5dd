import { expect } from 'chai';
import { composeId } from '../../../lib/base/ids.ts';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { ReadState } from '../../../lib/contract/read.ts';
import { newChannel } from '../../../lib/domain/channels/channels.ts';
import { giveRole, join, makeChannel, makeMember, makePerson, makeRole, makeServer, setOverwrite } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { type Caller, inParallel, refused, send } from '../../harness/requests.ts';
import { newBot, newMember, useServer } from '../../harness/use.ts';

describe('read marks', () => {
  const { api, owner, server, me, bot } = useServer({ me: newMember(), bot: newBot(permissionBits['Mention Everyone']) });

  const post = async (channelId: string, content = 'x', as: Caller = bot, more: object = {}): Promise<string> =>
    (await send<{ id: string }>(api, 201, as, 'POST', `/api/channels/${channelId}/messages`, { content, ...more })).id;
  const mark = (channelId: string, messageId: string, as: Caller = me): Promise<void> =>
    send(api, 204, as, 'PUT', `/api/channels/${channelId}/read`, { messageId });
  const reads = (as: Caller = me): Promise<ReadState[]> => send(api, 200, as, 'GET', '/api/users/@me/reads');
  const stateOf = async (channelId: string, as: Caller = me): Promise<ReadState | undefined> =>
    (await reads(as)).find((one) => one.channelId === channelId);
  const addChannel = async (): Promise<string> => (await makeChannel(api, owner, server.id)).id;

  describe('PUT /api/channels/{channelId}/read', () => {
    it('204, and the mark never moves back, also when many are set at once', async () => {
      const id = await addChannel();
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

    it('204 for a deleted or unknown message', async () => {
      const id = await addChannel();
      const gone = await post(id);
      await send(api, 204, bot, 'DELETE', `/api/channels/${id}/messages/${gone}`);
      await mark(id, gone);
      expect(await stateOf(id)).to.include({ channelId: id, readMessageId: gone, lastMessageId: null, mentions: 0 });
      await mark(id, composeId(Date.now(), 0, 0));
    });

    for (const [what, body] of [
      ['a missing id', {}],
      ['null', { messageId: null }],
      ['a number', { messageId: 5 }],
      ['a malformed id', { messageId: 'x' }],
      ['the highest id', { messageId: '9999999999999999999' }],
      ['an id of tomorrow', { messageId: composeId(Date.now() + 86_400_000, 0, 0) }],
    ] as const)
      it(`400 for ${what}`, async () => {
        const { errors } = await refused(api, [400, 'invalid_request'], me, 'PUT', `/api/channels/${server.general}/read`, body);
        expect(errors?.[0]?.path).to.equal('/messageId');
      });

    it('400 in a voice channel', async () => {
      const [{ id }, messageId] = [await makeChannel(api, owner, server.id, { kind: 'voice' }), await post(server.general)];
      await refused(api, [400, 'invalid_request'], me, 'PUT', `/api/channels/${id}/read`, { messageId });
    });
  });

  describe('GET /api/users/@me/reads', () => {
    it('200 with the text and announcement channels that the caller may view, newest message first', async () => {
      const fresh = await makePerson(api);
      const otherServer = await makeServer(api, owner);
      await join(api, owner, otherServer.id, fresh);
      await makeServer(api, owner);
      const news = await makeChannel(api, owner, otherServer.id, { kind: 'announcement' });
      for (const kind of ['voice', 'category'] as const) await makeChannel(api, owner, otherServer.id, { kind });
      const hidden = await makeChannel(api, owner, otherServer.id);
      await setOverwrite(api, owner, hidden.id, otherServer.id, 0, permissionBits['View Channel']);
      const [first, second] = [await post(otherServer.general, 'x', owner), await post(news.id, 'x', owner)];
      await post(hidden.id, 'x', owner);
      const [newest, oldest, ...others] = await reads(fresh);
      expect(newest).to.include({ channelId: news.id, readMessageId: null, lastMessageId: second, mentions: 0 });
      expect(oldest).to.include({ channelId: otherServer.general, readMessageId: null, lastMessageId: first, mentions: 0 });
      expect(others).to.deep.equal([]);
      await setOverwrite(api, owner, hidden.id, fresh.id, permissionBits['View Channel'], 0);
      expect((await reads(fresh)).map((one) => one.channelId)).to.deep.equal([hidden.id, news.id, otherServer.general]);
      await send(api, 204, fresh, 'DELETE', `/api/users/@me/servers/${otherServer.id}`);
      expect(await reads(fresh)).to.deep.equal([]);
    });

    it('counts mentions by id, role, @everyone and reply in messages of others after the mark', async () => {
      const id = await addChannel();
      const role = await makeRole(api, owner, server.id);
      const foreign = await makeRole(api, owner, server.id);
      await giveRole(api, owner, server.id, me.id, role.id);
      const mine = await post(id, 'mine', me);
      const before = await post(id, `<@${me.id}>`);
      for (const content of [`<@${me.id}>`, `a <@&${role.id}>`, '@everyone', '@here']) await post(id, content);
      await post(id, 'reply', bot, { replyTo: mine });
      expect((await stateOf(id))?.mentions, 'no mark: all since joining').to.equal(6);
      await mark(id, before);
      expect((await stateOf(id))?.mentions).to.equal(5);
      for (const content of ['nobody', `<@${owner.id}>`, `<@&${foreign.id}>`, `\`<@${me.id}>\``]) await post(id, content);
      await post(id, 'quiet', bot, { replyTo: mine, mentionReply: false });
      const state = await stateOf(id);
      expect(state?.mentions).to.equal(5);
      await mark(id, state?.lastMessageId as string);
      expect(state?.mentionMessageIds).to.have.length(5);
      expect(await stateOf(id)).to.include({
        channelId: id,
        readMessageId: state?.lastMessageId,
        lastMessageId: state?.lastMessageId,
        mentions: 0,
      });
    });

    it('posting marks the own message and all before it as read; a bot gets no mark', async () => {
      const id = await addChannel();
      await post(id, `<@${me.id}>`);
      const own = await post(id, `<@${me.id}> @everyone`, me);
      await waitUntil(async () => (await stateOf(id))?.readMessageId === own, 'the mark');
      expect(await stateOf(id)).to.deep.include({
        readMessageId: own,
        unreadAfterId: own,
        lastMessageId: own,
        mentions: 0,
        mentionMessageIds: [],
      });
      const next = await post(id, 'more');
      expect(await stateOf(id)).to.include({ channelId: id, readMessageId: own, unreadAfterId: own, lastMessageId: next, mentions: 0 });
      expect(await api.platform.db.reads.countDocuments({ channelId: id })).to.equal(1);
    });

    it('the count follows edits and deletes, and starts when the person joins', async () => {
      const id = await addChannel();
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

    it('makes one query for messages for any number of unread channels; a delete changes lastMessageId', async () => {
      const person = await makeMember(api, owner, server.id);
      const channelIds = await inParallel(6, addChannel);
      const last = await Promise.all(channelIds.map((id) => post(id, `<@${person.id}>`)));
      await reads(person);
      const { messages } = api.platform.db;
      const queries: string[] = [];
      const [find, findOne] = [messages.find.bind(messages), messages.findOne.bind(messages)];
      const recording =
        (name: string, query: unknown) =>
        (...args: unknown[]): unknown => {
          const { channelId } = args[0] as { channelId: unknown };
          if (typeof channelId !== 'string' || channelIds.includes(channelId)) queries.push(name);
          return (query as (...given: unknown[]) => unknown)(...args);
        };
      Object.assign(messages, { find: recording('find', find), findOne: recording('findOne', findOne) });
      try {
        const states = await reads(person);
        expect(states.filter(({ mentions }) => mentions === 1).map(({ channelId }) => channelId)).to.have.members(channelIds);
        expect(queries).to.deep.equal(['find']);
      } finally {
        Object.assign(messages, { find, findOne });
      }
      await send(api, 204, owner, 'DELETE', `/api/channels/${channelIds[0]}/messages/${last[0]}`);
      expect(await stateOf(channelIds[0] as string, person)).to.include({ lastMessageId: null, mentions: 0 });
    });

    it('counts at most 99 mentions', async () => {
      const id = await addChannel();
      const first = await post(id);
      const [model] = await api.platform.db.messages.find({ _id: first }).toArray();
      const copies = Array.from({ length: 120 }, () => ({ ...model, _id: api.platform.ids.next(), mentions: [me.id], pings: true }));
      await api.platform.db.messages.insertMany(copies as never);
      expect((await stateOf(id))?.mentions).to.equal(99);
    });

    it('lists a DM and its mentions only for its two accounts', async () => {
      const dm = await send<{ id: string }>(api, 201, me, 'POST', '/api/users/@me/channels', { recipientId: owner.id });
      expect(await stateOf(dm.id)).to.deep.equal({
        channelId: dm.id,
        readMessageId: null,
        unreadAfterId: '0'.repeat(19),
        lastMessageId: null,
        mentions: 0,
        mentionMessageIds: [],
      });
      const last = await post(dm.id, `<@${me.id}>`, owner);
      expect(await stateOf(dm.id)).to.include({ readMessageId: null, unreadAfterId: '0'.repeat(19), lastMessageId: last, mentions: 1 });
      expect((await stateOf(dm.id))?.mentionMessageIds).to.deep.equal([last]);
      expect((await stateOf(dm.id, owner))?.mentions).to.equal(0);
      await mark(dm.id, last);
      expect((await stateOf(dm.id))?.mentions).to.equal(0);
      const other = await makeMember(api, owner, server.id);
      expect(await stateOf(dm.id, other)).to.equal(undefined);
      await refused(api, [404, 'not_found'], other, 'PUT', `/api/channels/${dm.id}/read`, { messageId: last });
    });

    it('lists a thread after its first mark, unless it is archived or its parent is hidden', async () => {
      const parentId = await addChannel();
      const threadId = api.platform.ids.next();
      const fresh = { _id: threadId, serverId: server.id, kind: 'thread' as const, name: 't', position: 0, createdAt: new Date() };
      await api.platform.db.channels.insertOne({ ...newChannel(fresh), parentId });
      const last = await post(threadId, '@everyone');
      expect(await stateOf(threadId)).to.equal(undefined);
      await mark(threadId, threadId);
      expect(await stateOf(threadId)).to.deep.equal({
        channelId: threadId,
        readMessageId: threadId,
        unreadAfterId: threadId,
        lastMessageId: last,
        mentions: 1,
        mentionMessageIds: [last],
      });
      await setOverwrite(api, owner, parentId, server.id, 0, permissionBits['View Channel']);
      expect(await stateOf(threadId)).to.equal(undefined);
      await setOverwrite(api, owner, parentId, server.id, 0, 0);
      await api.platform.db.channels.updateOne({ _id: threadId }, { $set: { archived: true } });
      expect(await stateOf(threadId)).to.equal(undefined);
    });
  });
});
