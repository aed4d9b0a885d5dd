import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import { startTestApiWithWorker } from '../../harness/api.ts';
import { join, loseAnswers, makeBot, makeMember, makeServer, openDm } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { sweepNewMessagesNow } from '../../harness/new-messages.ts';
import { type Caller, inParallel, refused, send } from '../../harness/requests.ts';
import { make, newBot, useServer } from '../../harness/use.ts';
import { messageCalls } from './message-fixture.ts';

describe('messages in DMs', () => {
  const { api, owner, server, bot } = useServer({ bot: newBot() }, { start: startTestApiWithWorker });
  const member = make(() => makeMember(api, owner, server.id), { each: true });
  const dm = make(() => openDm(api, bot, member), { each: true });
  const { path, post, edit, read, list, remove } = messageCalls(api, dm, bot);

  const lastId = async (): Promise<string | null> => {
    const listed = await send<DmChannel[]>(api, 200, member, 'GET', '/api/users/@me/channels');
    return listed.find(({ id }) => id === dm.id)?.lastMessageId ?? null;
  };

  it('both people post, read, reply, and edit and delete their own messages; a message has no serverId', async () => {
    const first = await post({ content: 'hello', embeds: [{ title: 't' }] });
    expect(first).to.include({ channelId: dm.id, content: 'hello' }).and.not.have.property('serverId');
    const second = await post({ content: 'hi', replyTo: first.id }, member);
    expect(second.mentions).to.deep.equal([bot.id]);
    expect((await list(member)).map(({ id }) => id)).to.deep.equal([first.id, second.id]);
    expect(await read(second.id)).to.deep.include({ content: 'hi' });
    await edit(second.id, { content: 'hi!' }, member);
    await refused(api, [403, 'not_author'], bot, 'PATCH', path(second.id), { content: 'x' });
    await refused(api, [403, 'missing_permission'], bot, 'DELETE', path(second.id));
    await refused(api, [400, 'invalid_request'], member, 'POST', path(), { content: 'x', embeds: [{ title: 't' }] });
    await remove(second.id, member);
    await refused(api, [404, 'not_found'], member, 'DELETE', path(second.id));
  });

  it('only the two people of the DM can be mentioned, not roles or everyone', async () => {
    const content = `<@${owner.id}> <@${bot.id}> <@1000000000000000001> <@&${server.id}> <@&${bot.roleId}> @everyone @here`;
    for (const as of [bot, member])
      expect(await post(content, as)).to.deep.include({ mentions: [bot.id], mentionRoles: [], mentionEveryone: false });
  });

  describe('without a shared server', () => {
    it('403 no_shared_server for posts of both; they can read, edit and delete; 201 after they share a server again', async () => {
      const [theirs, mine] = [await post('x'), await post('x', member)];
      await send(api, 204, member, 'DELETE', `/api/users/@me/servers/${server.id}`);
      for (const as of [bot, member]) {
        await refused(api, [403, 'no_shared_server'], as, 'POST', path(), { content: 'x' });
        expect(await list(as)).to.have.length(2);
        await read(mine.id, as);
      }
      await edit(mine.id, { content: 'edited' }, member);
      await remove(theirs.id);
      await join(api, owner, server.id, member);
      await post('x');
    });

    it('403 no_shared_server after a bot is removed, and after the server is deleted', async () => {
      const place = await makeServer(api, owner);
      const [other, one, two] = [
        await makeBot(api, owner, place.id),
        await makeMember(api, owner, place.id),
        await makeMember(api, owner, place.id),
      ];
      const [withBot, between] = [
        messageCalls(api, await openDm(api, one, other), one),
        messageCalls(api, await openDm(api, one, two), one),
      ];
      await send(api, 204, owner, 'DELETE', `/api/servers/${place.id}/members/${other.id}`);
      await refused(api, [403, 'no_shared_server'], one, 'POST', withBot.path(), { content: 'x' });
      await between.post('x');
      await send(api, 204, owner, 'DELETE', `/api/servers/${place.id}`);
      await refused(api, [403, 'no_shared_server'], one, 'POST', between.path(), { content: 'x' });
    });

    it('a post looks for shared servers once, a read never', async () => {
      const collection = api.platform.db.memberships;
      const real = collection.find.bind(collection);
      let queries = 0;
      Object.assign(collection, {
        find: (...args: Parameters<typeof real>) => {
          queries++;
          return real(...args);
        },
      });
      try {
        await post('x', member);
        expect(queries).to.equal(1);
        await list(member);
        expect(queries).to.equal(1);
      } finally {
        Reflect.deleteProperty(collection, 'find');
      }
    });
  });

  describe('lastMessageId', () => {
    it('is the newest message that exists: a delete moves it back, an edit does not move it', async () => {
      expect(await lastId()).to.equal(null);
      const [a, b, c] = [await post('x'), await post('x', member), await post('x')];
      expect(await lastId()).to.equal(c.id);
      await edit(a.id, { content: 'edited' });
      await remove(b.id, member);
      expect(await lastId()).to.equal(c.id);
      await remove(c.id);
      expect(await lastId()).to.equal(a.id);
      await remove(a.id);
      expect(await lastId()).to.equal(null);
    });

    it('is the newest after 30 parallel posts of both people, and null after 30 parallel deletes', async () => {
      const authorOf = (n: number): Caller => (n % 2 ? bot : member);
      const ids = (await inParallel(30, (n) => post('x', authorOf(n)))).map(({ id }) => id);
      expect(await lastId()).to.equal(ids.toSorted().at(-1));
      await Promise.all(ids.map((id, n) => remove(id, authorOf(n))));
      expect(await lastId()).to.equal(null);
    });

    it('does not move back when a post is repeated after a later one', async () => {
      const options = { as: bot.as, body: { content: 'x' }, headers: { 'Idempotency-Key': 'again' } };
      const first = await api.call('POST', path(), options);
      const later = await post('x', member);
      await loseAnswers(api, { resourceId: String(first.body.id) });
      const again = await api.call('POST', path(), options);
      expect([again.status, again.body.id]).to.deep.equal([201, first.body.id]);
      expect(await lastId()).to.equal(later.id);
    });

    it('a delete moves it past a message that is deleted between its read and its write', async () => {
      const [a, b, c] = [await post('x'), await post('x'), await post('x')];
      beforeNextQuery(api.platform.db.dms, 'updateOne', () => remove(b.id));
      await remove(c.id);
      expect(await lastId()).to.equal(a.id);
    });

    it('the sweep of new messages repairs it after a crash between the two writes of a post', async () => {
      const { dms } = api.platform.db;
      const { id } = await post('x');
      await dms.updateOne({ _id: dm.id }, { $set: { lastMessageId: null, activeId: dm.id } });
      await sweepNewMessagesNow(api.worker);
      expect(await dms.findOne({ _id: dm.id })).to.include({ lastMessageId: id, activeId: id });
    });
  });
});
