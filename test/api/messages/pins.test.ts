import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { AuditPage } from '../../../lib/contract/server.ts';
import type { MessageDoc } from '../../../lib/store/mongo/models/message.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
  word,
} from '../../harness/factories.ts';

const [view, post, manageMessages] = [1, 2, 1 << 5];
const unknownId = '1000000000000000000';

describe('pins', () => {
  let api: TestApi;
  let owner: Caller;
  let keeper: Caller;
  let member: Caller;
  let outsider: Caller;
  let server: Place;
  let channelId: string;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    keeper = await makeMember(api, owner, server.id, manageMessages);
    member = await makeMember(api, owner, server.id);
    outsider = await makePerson(api);
  });
  after(() => api.close());
  beforeEach(async () => {
    channelId = (await makeChannel(api, owner, server.id)).id;
  });

  const write = async (as = member, channel = channelId): Promise<string> =>
    (await send<Message>(api, 201, as, 'POST', `/api/channels/${channel}/messages`, { content: word() })).id;
  const path = (id: string, channel = channelId): string => `/api/channels/${channel}/pins/${id}`;
  const pin = (id: string, as = keeper): Promise<void> => send(api, 204, as, 'PUT', path(id));
  const unpin = (id: string, as = keeper): Promise<void> => send(api, 204, as, 'DELETE', path(id));
  const list = (as = member, channel = channelId): Promise<Message[]> => send(api, 200, as, 'GET', `/api/channels/${channel}/pins`);
  const ids = async (): Promise<string[]> => (await list()).map((one) => one.id);
  const stored = async (id: string) =>
    (await api.platform.db.messages.collection.findOne({ _id: id as never })) as unknown as MessageDoc | null;
  const owed = async (id: string) => (await stored(id))?.ob?.slice(1).map((one) => one.name);
  const audit = async () =>
    (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log?limit=100`)).items.filter((one) =>
      one.action.startsWith('message_'),
    );
  /** Pins so many messages by direct writes, in slots from 0. */
  const fill = async (count: number): Promise<string[]> => {
    const made = Array.from({ length: count }, () => api.platform.ids.next());
    const [model] = await api.platform.db.messages.find({ _id: await write() }, { ob: 0, obAt: 0 }).lean();
    const docs = made.map((_id, pinSlot) => ({ ...model, _id, pinSlot, pinnedAt: new Date(1_700_000_000_000 + pinSlot) }));
    await api.platform.db.messages.collection.insertMany(docs as never);
    return made;
  };

  describe('PUT /api/channels/{channelId}/pins/{messageId}', () => {
    it('204: `pinned` in every read, PINS_UPDATE owed, an audit entry, editedAt stays null', async () => {
      const id = await write();
      await pin(id);
      const seen = await send<Message>(api, 200, member, 'GET', `/api/channels/${channelId}/messages/${id}`);
      expect(seen).to.include({ pinned: true, editedAt: null });
      expect(await list()).to.deep.equal([seen]);
      expect(await send(api, 200, member, 'GET', `/api/channels/${channelId}/messages`)).to.deep.equal([seen]);
      expect(await owed(id)).to.deep.equal(['PINS_UPDATE']);
      expect((await audit())[0]).to.deep.include({ action: 'message_pin', actorId: keeper.id, targetId: id, reason: null, changes: {} });
    });

    it('204 again: it does not move, nothing is owed, no second entry', async () => {
      const [first, second] = [await write(), await write()];
      await pin(first);
      await pin(second);
      const before = [await stored(first), await audit()];
      await pin(first);
      expect([await stored(first), await audit()]).to.deep.equal(before);
      expect(await ids()).to.deep.equal([second, first]);
    });

    it('one’s own message needs Manage Messages all the same; a pin without Send Messages is fine', async () => {
      const id = await write(member);
      const { missing } = await refused(api, [403, 'missing_permission'], member, 'PUT', path(id));
      expect(missing).to.deep.equal(['Manage Messages']);
      await setOverwrite(api, owner, channelId, keeper.id, 0, post);
      await pin(id);
    });

    it('400 too_many_pins for the 51st; one of the 50 again is 204; unpinning or deleting one makes room', async () => {
      const pinned = await fill(50);
      const [next, another] = [await write(), await write()];
      const { message } = await refused(api, [400, 'too_many_pins'], keeper, 'PUT', path(next));
      expect(message).to.equal('A channel can have at most 50 pinned messages. Unpin one first.');
      expect(await owed(next)).to.deep.equal([]);
      await pin(pinned[7] as string);
      await unpin(pinned[7] as string);
      await pin(next);
      await refused(api, [400, 'too_many_pins'], keeper, 'PUT', path(another));
      await send(api, 204, keeper, 'DELETE', `/api/channels/${channelId}/messages/${pinned[0]}`);
      await pin(another);
      expect((await ids()).slice(0, 2)).to.deep.equal([another, next]);
      expect(await ids()).to.have.length(50);
    });

    it('50 in one channel leave the others alone', async () => {
      await fill(50);
      const other = await makeChannel(api, owner, server.id);
      await send(api, 204, keeper, 'PUT', path(await write(member, other.id), other.id));
    });
  });

  describe('DELETE /api/channels/{channelId}/pins/{messageId}', () => {
    it('204: not pinned any more, PINS_UPDATE owed, an audit entry; editedAt stays null', async () => {
      const id = await write();
      await pin(id);
      await unpin(id);
      expect(await ids()).to.deep.equal([]);
      expect(await stored(id)).to.not.have.any.keys('pinnedAt', 'pinSlot');
      expect(await stored(id)).to.have.property('editedAt', null);
      expect(await owed(id)).to.deep.equal(['PINS_UPDATE', 'PINS_UPDATE']);
      expect((await audit())[0]).to.deep.include({ action: 'message_unpin', actorId: keeper.id, targetId: id, changes: {} });
    });

    it('204 for one that is not pinned: nothing is owed and no entry is left; 403 without Manage Messages', async () => {
      const id = await write();
      const before = [await stored(id), await audit()];
      await unpin(id);
      expect([await stored(id), await audit()]).to.deep.equal(before);
      await refused(api, [403, 'missing_permission'], member, 'DELETE', path(id));
    });

    it('a deleted message is pinned no more: 404, and its PINS_UPDATE is owed', async () => {
      const id = await write();
      await pin(id);
      await send(api, 204, owner, 'DELETE', `/api/channels/${channelId}/messages/${id}`);
      expect(await ids()).to.deep.equal([]);
      for (const method of ['PUT', 'DELETE']) await refused(api, [404, 'not_found'], keeper, method, path(id));
      expect(await owed(id)).to.deep.equal(['PINS_UPDATE', 'MESSAGE_DELETE', 'PINS_UPDATE']);
      expect(await stored(id)).to.not.have.any.keys('pinnedAt', 'pinSlot');
    });
  });

  describe('GET /api/channels/{channelId}/pins', () => {
    it('newest pin first, whatever the age of the messages, also when many are pinned in one millisecond', async () => {
      const made = await Promise.all(Array.from({ length: 6 }, () => write()));
      const order = [3, 0, 5, 1, 4, 2].map((n) => made[n] as string);
      const { now } = api.platform;
      try {
        api.platform.now = () => 1_800_000_000_000;
        for (const id of order) await pin(id);
        await unpin(order[1] as string);
        await pin(order[1] as string);
      } finally {
        api.platform.now = now;
      }
      expect(await ids()).to.deep.equal([1, 5, 4, 3, 2, 0].map((n) => order[n]));
    });

    it('`me` of reactions is the reader’s', async () => {
      const id = await write();
      await pin(id);
      await send(api, 204, member, 'PUT', `/api/channels/${channelId}/messages/${id}/reactions/%F0%9F%91%8D`);
      for (const [as, me] of [
        [member, true],
        [keeper, false],
      ] as const)
        expect((await list(as))[0]?.reactions).to.deep.equal([{ emoji: '👍', count: 1, me }]);
    });
  });

  describe('where', () => {
    it('404 for a message that is unknown, malformed or of another channel', async () => {
      const other = await makeChannel(api, owner, server.id);
      for (const id of [await write(member, other.id), unknownId, 'x', '%24ne'])
        for (const method of ['PUT', 'DELETE']) await refused(api, [404, 'not_found'], owner, method, path(id));
      expect(await list(member, other.id)).to.deep.equal([]);
    });

    it('404 outside the server, 403 without View Channel, 400 in a category or voice channel', async () => {
      const id = await write();
      await setOverwrite(api, owner, channelId, server.id, 0, view);
      const calls = [
        ['GET', `/api/channels/${channelId}/pins`],
        ['PUT', path(id)],
        ['DELETE', path(id)],
      ] as const;
      for (const [method, to] of calls) {
        await refused(api, [404, 'not_found'], outsider, method, to);
        const { missing } = await refused(api, [403, 'missing_permission'], keeper, method, to);
        expect(missing).to.deep.equal(['View Channel']);
        for (const kind of ['category', 'voice'] as const) {
          const { id: silent } = await makeChannel(api, owner, server.id, { kind });
          await refused(api, [400, 'invalid_request'], owner, method, to.replace(channelId, silent));
        }
      }
    });

    it('in a DM either of the two pins and unpins, nobody else finds it, and no audit entry is left', async () => {
      const before = await api.platform.db.audit.countDocuments();
      const { id: dmId } = await send<DmChannel>(api, 201, owner, 'POST', '/api/users/@me/channels', { recipientId: member.id });
      const id = await write(owner, dmId);
      await send(api, 204, member, 'PUT', path(id, dmId));
      expect((await list(owner, dmId)).map((one) => one.id)).to.deep.equal([id]);
      await send(api, 204, owner, 'DELETE', path(id, dmId));
      await send(api, 204, owner, 'PUT', path(id, dmId));
      for (const [method, to] of [
        ['GET', `/api/channels/${dmId}/pins`],
        ['PUT', path(id, dmId)],
        ['DELETE', path(id, dmId)],
      ] as const)
        await refused(api, [404, 'not_found'], outsider, method, to);
      await send(api, 204, owner, 'DELETE', `/api/channels/${dmId}/messages/${id}`);
      expect(await api.platform.db.audit.countDocuments()).to.equal(before);
    });
  });

  describe('DELETE /api/channels/{channelId}/messages/{messageId}', () => {
    it('message_delete is left when a moderator deletes another’s, none for one’s own, a refusal or a second delete', async () => {
      const [theirs, own, kept] = [await write(), await write(keeper), await write()];
      const remove = (status: number, id: string, as: Caller): Promise<unknown> =>
        send(api, status, as, 'DELETE', `/api/channels/${channelId}/messages/${id}`);
      const before = (await audit()).length;
      await remove(403, kept, await makeMember(api, owner, server.id));
      await remove(204, own, keeper);
      await remove(204, theirs, keeper);
      await remove(404, theirs, keeper);
      const entries = await audit();
      expect(entries.length).to.equal(before + 1);
      expect(entries[0]).to.deep.include({ action: 'message_delete', actorId: keeper.id, targetId: theirs, reason: null, changes: {} });
    });
  });
});
