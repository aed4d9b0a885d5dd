import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { AuditPage } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { makeChannel, makeMember, openDm, unknownId, word } from '../../harness/factories.ts';
import { type Caller, inParallel, refused, refusedWithout, send } from '../../harness/requests.ts';
import { make, newMember, useServer } from '../../harness/use.ts';
import { messageCalls, pendingAfterCreate, storedMessage } from './message-fixture.ts';

const manageMessages = permissionBits['Manage Messages'];

describe('pins', () => {
  const { api, owner, server, moderator, member } = useServer({ moderator: newMember(manageMessages), member: newMember() });
  const channel = make(() => makeChannel(api, owner, server.id), { each: true });
  const { path: messagePath, post, read, list: listMessages, remove } = messageCalls(api, channel, member);

  const write = async (as = member): Promise<string> => (await post(word(), as)).id;
  const listPath = (channelId = channel.id): string => `/api/channels/${channelId}/pins`;
  const path = (id: string, channelId?: string): string => `${listPath(channelId)}/${id}`;
  const pin = (id: string, as = moderator): Promise<void> => send(api, 204, as, 'PUT', path(id));
  const unpin = (id: string, as = moderator): Promise<void> => send(api, 204, as, 'DELETE', path(id));
  const list = (as = member, channelId?: string): Promise<Message[]> => send(api, 200, as, 'GET', listPath(channelId));
  const ids = async (): Promise<string[]> => (await list()).map((one) => one.id);
  const stored = (id: string) => storedMessage(api, id);
  const pending = (id: string) => pendingAfterCreate(api, id);
  const audit = async (): Promise<AuditPage['items']> =>
    (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log?limit=100`)).items.filter((one) =>
      one.action.startsWith('message_'),
    );
  /** Stores pinned messages by direct writes, in slots from 0; returns their ids. */
  const fill = async (count: number): Promise<string[]> => {
    const made = Array.from({ length: count }, () => api.platform.ids.next());
    const [model] = await api.platform.db.messages.find({ _id: await write() }, { projection: { outbox: 0, outboxAt: 0 } }).toArray();
    const docs = made.map((_id, pinSlot) => ({ ...model, _id, pinSlot, pinnedAt: new Date(1_700_000_000_000 + pinSlot) }));
    await api.platform.db.messages.insertMany(docs as never);
    return made;
  };

  describe('PUT /api/channels/{channelId}/pins/{messageId}', () => {
    it('204; every read shows `pinned`; adds a PINS_UPDATE event and an audit entry; editedAt stays null', async () => {
      const id = await write();
      await pin(id);
      const seen = await read(id);
      expect(seen).to.include({ pinned: true, editedAt: null });
      expect(await list()).to.deep.equal([seen]);
      expect(await listMessages()).to.deep.equal([seen]);
      expect(await pending(id)).to.deep.equal(['PINS_UPDATE']);
      expect((await audit())[0]).to.deep.include({ action: 'message_pin', actorId: moderator.id, targetId: id, reason: null, changes: {} });
    });

    it('204 for a pinned message, which keeps its position; adds no event and no audit entry', async () => {
      const [first, second] = [await write(), await write()];
      await pin(first);
      await pin(second);
      const before = [await stored(first), await audit()];
      await pin(first);
      expect([await stored(first), await audit()]).to.deep.equal(before);
      expect(await ids()).to.deep.equal([second, first]);
    });

    it('403 missing_permission without Manage Messages for PUT and DELETE, also for one’s own message', async () => {
      const id = await write(member);
      for (const method of ['PUT', 'DELETE']) await refusedWithout(api, 'Manage Messages', member, method, path(id));
    });

    it('400 too_many_pins for the 51st; 204 for a pinned one, in another channel, and for another after an unpin or a delete', async () => {
      const pinned = await fill(50);
      const [next, another] = [await write(), await write()];
      const { message } = await refused(api, [400, 'too_many_pins'], moderator, 'PUT', path(next));
      expect(message).to.equal('A channel can have at most 50 pinned messages. Unpin one first.');
      expect(await pending(next)).to.deep.equal([]);
      const other = await makeChannel(api, owner, server.id);
      const { id: elsewhere } = await messageCalls(api, other, member).post('x');
      await send(api, 204, moderator, 'PUT', path(elsewhere, other.id));
      await pin(pinned[7] as string);
      await unpin(pinned[7] as string);
      await pin(next);
      await refused(api, [400, 'too_many_pins'], moderator, 'PUT', path(another));
      await remove(pinned[0] as string, moderator);
      await pin(another);
      expect((await ids()).slice(0, 2)).to.deep.equal([another, next]);
      expect(await ids()).to.have.length(50);
    });
  });

  describe('DELETE /api/channels/{channelId}/pins/{messageId}', () => {
    it('204; removes the pin, adds a PINS_UPDATE event and an audit entry; editedAt stays null', async () => {
      const id = await write();
      await pin(id);
      await unpin(id);
      expect(await ids()).to.deep.equal([]);
      expect(await stored(id)).to.not.have.any.keys('pinnedAt', 'pinSlot');
      expect(await stored(id)).to.have.property('editedAt', null);
      expect(await pending(id)).to.deep.equal(['PINS_UPDATE', 'PINS_UPDATE']);
      expect((await audit())[0]).to.deep.include({ action: 'message_unpin', actorId: moderator.id, targetId: id, changes: {} });
    });

    it('204 without an event or audit entry for a message that is not pinned', async () => {
      const id = await write();
      const before = [await stored(id), await audit()];
      await unpin(id);
      expect([await stored(id), await audit()]).to.deep.equal(before);
    });

    it('404 for a deleted message, whose pin was removed with a PINS_UPDATE event', async () => {
      const id = await write();
      await pin(id);
      await remove(id, owner);
      expect(await ids()).to.deep.equal([]);
      for (const method of ['PUT', 'DELETE']) await refused(api, [404, 'not_found'], moderator, method, path(id));
      expect(await pending(id)).to.deep.equal(['PINS_UPDATE', 'MESSAGE_DELETE', 'PINS_UPDATE']);
      expect(await stored(id)).to.not.have.any.keys('pinnedAt', 'pinSlot');
    });
  });

  describe('GET /api/channels/{channelId}/pins', () => {
    it('newest pin first, regardless of the age of the messages, also when several are pinned in one millisecond', async () => {
      const made = await inParallel(6, () => write());
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

    it('`me` of a reaction is that of the reader', async () => {
      const id = await write();
      await pin(id);
      await send(api, 204, member, 'PUT', `${messagePath(id)}/reactions/%F0%9F%91%8D`);
      for (const [as, me] of [
        [member, true],
        [moderator, false],
      ] as const)
        expect((await list(as))[0]?.reactions).to.deep.equal([{ emoji: '👍', count: 1, me }]);
    });
  });

  describe('{channelId} and {messageId}', () => {
    it('404 for a message that is unknown or of another channel', async () => {
      const other = await makeChannel(api, owner, server.id);
      const { id: elsewhere } = await messageCalls(api, other, member).post('x');
      for (const id of [elsewhere, unknownId])
        for (const method of ['PUT', 'DELETE']) await refused(api, [404, 'not_found'], owner, method, path(id));
      expect(await list(member, other.id)).to.deep.equal([]);
    });

    it('400 in a category or voice channel', async () => {
      for (const kind of ['category', 'voice'] as const) {
        const { id } = await makeChannel(api, owner, server.id, { kind });
        for (const [method, to] of [
          ['GET', listPath(id)],
          ['PUT', path(unknownId, id)],
          ['DELETE', path(unknownId, id)],
        ] as const)
          await refused(api, [400, 'invalid_request'], owner, method, to);
      }
    });

    it('in a DM both people pin and unpin, and there are no audit entries', async () => {
      const before = await api.platform.db.audit.countDocuments();
      const dm = await openDm(api, owner, member);
      const messages = messageCalls(api, dm, owner);
      const { id } = await messages.post('x');
      await send(api, 204, member, 'PUT', path(id, dm.id));
      expect((await list(owner, dm.id)).map((one) => one.id)).to.deep.equal([id]);
      await send(api, 204, owner, 'DELETE', path(id, dm.id));
      await send(api, 204, owner, 'PUT', path(id, dm.id));
      await messages.remove(id);
      expect(await api.platform.db.audit.countDocuments()).to.equal(before);
    });
  });

  describe('DELETE /api/channels/{channelId}/messages/{messageId}', () => {
    it('adds a message_delete audit entry for a message of another, not for one’s own, a refused or a second delete', async () => {
      const [theirs, own, kept] = [await write(), await write(moderator), await write()];
      const before = (await audit()).length;
      const deletes: [status: number, id: string, as: Caller][] = [
        [403, kept, await makeMember(api, owner, server.id)],
        [204, own, moderator],
        [204, theirs, moderator],
        [404, theirs, moderator],
      ];
      for (const [status, id, as] of deletes) await send(api, status, as, 'DELETE', messagePath(id));
      const entries = await audit();
      expect(entries.length).to.equal(before + 1);
      expect(entries[0]).to.deep.include({ action: 'message_delete', actorId: moderator.id, targetId: theirs, reason: null, changes: {} });
    });
  });
});
