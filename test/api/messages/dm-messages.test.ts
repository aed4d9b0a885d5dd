import { expect } from 'chai';
import { createLog } from '../../../lib/base/log.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { relay } from '../../../lib/domain/events/relay.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../../lib/store/platform.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  join,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

describe('messages in DMs', () => {
  let api: TestApi;
  let worker: WorkerPlatform;
  let owner: Caller;
  let server: Place;
  let bot: Bot;
  let member: Caller;
  let dm: DmChannel;
  let path: string;
  before(async () => {
    api = await startTestApi();
    worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    bot = await makeBot(api, owner, server.id);
  });
  after(async () => {
    await worker.close();
    await api.close();
  });
  beforeEach(async () => {
    member = await makeMember(api, owner, server.id);
    dm = await send(api, 201, bot, 'POST', '/api/users/@me/channels', { recipientId: member.id });
    path = `/api/channels/${dm.id}/messages`;
  });

  const post = (as: Caller, body: object = { content: 'x' }): Promise<Message> => send(api, 201, as, 'POST', path, body);
  const lastId = async (): Promise<string | null> => {
    const listed = await send<DmChannel[]>(api, 200, member, 'GET', '/api/users/@me/channels');
    return listed.find(({ id }) => id === dm.id)?.lastMessageId ?? null;
  };
  const leave = (as: Caller): Promise<void> => send(api, 204, as, 'DELETE', `/api/users/@me/servers/${server.id}`);

  it('both post, read, reply, edit and delete their own; a message in a DM has no serverId', async () => {
    const first = await post(bot, { content: 'hello', embeds: [{ title: 't' }] });
    expect(first).to.include({ channelId: dm.id, content: 'hello' }).and.not.have.property('serverId');
    const second = await post(member, { content: 'hi', replyTo: first.id });
    expect(second.mentions).to.deep.equal([bot.id]);
    const listed = await send<Message[]>(api, 200, member, 'GET', path);
    expect(listed.map(({ id }) => id)).to.deep.equal([first.id, second.id]);
    expect(await send(api, 200, bot, 'GET', `${path}/${second.id}`)).to.deep.include({ content: 'hi' });
    await send(api, 200, member, 'PATCH', `${path}/${second.id}`, { content: 'hi!' });
    await refused(api, [403, 'not_author'], bot, 'PATCH', `${path}/${second.id}`, { content: 'x' });
    await refused(api, [403, 'missing_permission'], bot, 'DELETE', `${path}/${second.id}`);
    await refused(api, [400, 'invalid_request'], member, 'POST', path, { content: 'x', embeds: [{ title: 't' }] });
    await send(api, 204, member, 'DELETE', `${path}/${second.id}`);
    await refused(api, [404, 'not_found'], member, 'DELETE', `${path}/${second.id}`);
  });

  it('mentions are the two of the DM; roles and everyone never', async () => {
    const content = `<@${owner.id}> <@${bot.id}> <@1000000000000000001> <@&${server.id}> @everyone @here`;
    for (const as of [bot, member]) {
      const { mentions, mentionRoles, mentionEveryone } = await post(as, { content });
      expect({ mentions, mentionRoles, mentionEveryone }).to.deep.equal({
        mentions: [bot.id],
        mentionRoles: [],
        mentionEveryone: false,
      });
    }
  });

  describe('without a shared server any more', () => {
    it('403 no_shared_server for posts of either; reading, editing and deleting go on; a shared server opens it again', async () => {
      const [theirs, mine] = [await post(bot), await post(member)];
      await leave(member);
      for (const as of [bot, member]) {
        await refused(api, [403, 'no_shared_server'], as, 'POST', path, { content: 'x' });
        expect(await send<Message[]>(api, 200, as, 'GET', path)).to.have.length(2);
        await send(api, 200, as, 'GET', `${path}/${mine.id}`);
      }
      await send(api, 200, member, 'PATCH', `${path}/${mine.id}`, { content: 'edited' });
      await send(api, 204, bot, 'DELETE', `${path}/${theirs.id}`);
      await join(api, owner, server.id, member);
      await post(bot);
    });

    it('also when the server is deleted, and when the bot is the one that left', async () => {
      const place = await makeServer(api, owner);
      const other = await makeBot(api, owner, place.id);
      const [one, two] = [await makeMember(api, owner, place.id), await makeMember(api, owner, place.id)];
      const open = (to: Caller): Promise<DmChannel> => send(api, 201, one, 'POST', '/api/users/@me/channels', { recipientId: to.id });
      const [withBot, between] = [await open(other), await open(two)];
      const refuses = ({ id }: DmChannel) =>
        refused(api, [403, 'no_shared_server'], one, 'POST', `/api/channels/${id}/messages`, { content: 'x' });
      await send(api, 204, owner, 'DELETE', `/api/servers/${place.id}/members/${other.id}`);
      await refuses(withBot);
      await send(api, 201, one, 'POST', `/api/channels/${between.id}/messages`, { content: 'x' });
      await send(api, 204, owner, 'DELETE', `/api/servers/${place.id}`);
      await refuses(between);
    });

    it('one query decides it', async () => {
      const { members } = api.platform.db;
      const real = members.collection.aggregate.bind(members.collection);
      let asked = 0;
      Object.assign(members.collection, {
        aggregate: (...args: Parameters<typeof real>) => {
          asked++;
          return real(...args);
        },
      });
      try {
        await post(member);
        expect(asked).to.equal(1);
        await send(api, 200, member, 'GET', path);
        expect(asked).to.equal(1);
      } finally {
        Reflect.deleteProperty(members.collection, 'aggregate');
      }
    });
  });

  describe('lastMessageId', () => {
    it('is the newest message that is there: deletes take it back, edits do not move it', async () => {
      expect(await lastId()).to.equal(null);
      const [a, b, c] = [await post(bot), await post(member), await post(bot)];
      expect(await lastId()).to.equal(c.id);
      await send(api, 200, bot, 'PATCH', `${path}/${a.id}`, { content: 'edited' });
      await send(api, 204, member, 'DELETE', `${path}/${b.id}`);
      expect(await lastId()).to.equal(c.id);
      await send(api, 204, bot, 'DELETE', `${path}/${c.id}`);
      expect(await lastId()).to.equal(a.id);
      await send(api, 204, bot, 'DELETE', `${path}/${a.id}`);
      expect(await lastId()).to.equal(null);
    });

    it('30 posts of both at once leave the newest, and 30 deletes at once none', async () => {
      const made = await Promise.all(Array.from({ length: 30 }, (_, n) => post(n % 2 ? bot : member)));
      expect(await lastId()).to.equal(
        made
          .map(({ id }) => id)
          .toSorted()
          .at(-1),
      );
      await Promise.all(made.map(({ id }, n) => send(api, 204, n % 2 ? bot : member, 'DELETE', `${path}/${id}`)));
      expect(await lastId()).to.equal(null);
    });

    it('a post that is taken up again after later ones does not take it back', async () => {
      const headers = { 'Idempotency-Key': 'again' };
      const first = await api.call<Message>('POST', path, { as: bot.as, body: { content: 'x' }, headers });
      const later = await post(member);
      await api.platform.db.idempotency.updateMany({ resourceId: first.body.id }, { $set: { answer: null, claimedAt: new Date(0) } });
      const again = await api.call<Message>('POST', path, { as: bot.as, body: { content: 'x' }, headers });
      expect([again.status, again.body.id]).to.deep.equal([201, first.body.id]);
      expect(await lastId()).to.equal(later.id);
    });

    it('a delete of the message that it would go back to, at the same moment', async () => {
      const [a, b, c] = [await post(bot), await post(bot), await post(bot)];
      // Between what the first delete reads and what it writes, another goes through.
      meet(api.platform.db.dms, 'updateOne', () => send(api, 204, bot, 'DELETE', `${path}/${b.id}`));
      await send(api, 204, bot, 'DELETE', `${path}/${c.id}`);
      expect(await lastId()).to.equal(a.id);
    });

    it('a crash between the two writes of a post is made good by the drain, which changes nothing more the second time', async () => {
      const { id } = await post(bot);
      await api.platform.db.dms.updateOne({ _id: dm.id }, { $set: { lastMessageId: null, activeId: dm.id } });
      await relay(worker, 'channel', dm.id);
      const healed = await api.platform.db.dms.findOne({ _id: dm.id }).lean();
      expect(healed).to.include({ lastMessageId: id, activeId: id });
      await relay(worker, 'channel', dm.id);
      expect(await api.platform.db.dms.findOne({ _id: dm.id }).lean()).to.deep.equal(healed);
    });
  });
});
