// Tests of channels: their routes, threads, direct messages, slow mode, read marks, and notices of kicks and bans.
import { expect } from 'chai';
import type { Channel, ChannelPatch } from '../../../lib/contract/channel.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { loseAnswers, makeBot, makeChannel, makeServer, setOverwrite, unknownId } from '../../harness/factories.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { channelOf } from '../../harness/seed.ts';
import { newMember, useServer } from '../../harness/use.ts';

const [view, post, manageChannels] = [1, 2, 1 << 6];

describe('channels', () => {
  const { api, owner, server, manager, member } = useServer({ manager: newMember(manageChannels), member: newMember() });
  const read = (as: Caller, id: string): Promise<Channel> => send(api, 200, as, 'GET', `/api/channels/${id}`);
  const patch = (id: string, body: ChannelPatch, as = manager): Promise<Channel> =>
    send(api, 200, as, 'PATCH', `/api/channels/${id}`, body);

  describe('POST /api/servers/{serverId}/channels', () => {
    const path = (): string => `/api/servers/${server.id}/channels`;

    it('201 for each kind, with null for a field that does not apply', async () => {
      const shared = { serverId: server.id, parentId: null, overwrites: [], archived: null, threadOwnerId: null, threadStarterId: null };
      const textual = { topic: null, slowmodeSecs: 0, contentMode: 'default', autoArchiveMinutes: null };
      const others = { topic: null, slowmodeSecs: null, contentMode: null, autoArchiveMinutes: null };
      for (const [kind, fields] of [
        ['text', textual],
        ['announcement', textual],
        ['voice', others],
        ['category', others],
      ] as const) {
        const made = await makeChannel(api, manager, server.id, { name: ` ${kind} `, kind });
        const { id, position: _position, ...rest } = made;
        expect(rest).to.deep.equal({ name: kind, kind, messageCount: null, ...shared, ...fields });
        expect(await read(member, id)).to.deep.equal(made);
      }
    });

    it('201 with the last position, also for 20 at once, each of which gets its own', async () => {
      const category = await makeChannel(api, manager, server.id, { kind: 'category' });
      const made = await inParallel(20, () => makeChannel(api, manager, server.id, { parentId: category.id }));
      expect(made.every((one) => one.parentId === category.id)).to.equal(true);
      expect(new Set(made.map((one) => one.position)).size).to.equal(20);
      const last = await makeChannel(api, manager, server.id);
      expect(last.position).to.be.greaterThan(Math.max(...made.map((one) => one.position ?? 0)));
    });

    it('400 invalid_request without a kind or name, for a thread, a long name and an unknown parent', async () => {
      const named = [{}, { kind: 'thread' }, { kind: 'text', parentId: 'x' }, { kind: 'text', parentId: unknownId }];
      for (const body of [...named.map((more) => ({ name: 'x', ...more })), { kind: 'text' }, { name: 'x'.repeat(101), kind: 'text' }])
        await refused(api, [400, 'invalid_request'], manager, 'POST', path(), body);
    });

    it('400 for a parent that is no category, another server’s or hidden from the caller, and for a category in a category', async () => {
      const elsewhere = await makeServer(api, owner);
      const foreign = await makeChannel(api, owner, elsewhere.id, { kind: 'category' });
      const hidden = await makeChannel(api, owner, server.id, { kind: 'category' });
      await setOverwrite(api, owner, hidden.id, server.id, 0, view);
      for (const parentId of [server.general, foreign.id, hidden.id])
        await refused(api, [400, 'invalid_request'], manager, 'POST', path(), { name: 'x', kind: 'text', parentId });
      const category = await makeChannel(api, owner, server.id, { kind: 'category' });
      await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { name: 'x', kind: 'category', parentId: category.id });
    });

    it('400 too_many_channels beyond 500, also of 30 at once; a deleted one does not count', async () => {
      const otherServer = await makeServer(api, owner);
      const rows = Array.from({ length: 489 }, (_, at) => ({
        ...channelOf(String(2n * 10n ** 18n + BigInt(at)), otherServer.id, at + 1),
        slot: at + 1,
      }));
      await api.platform.db.channels.insertMany(rows);
      await api.platform.db.servers.updateOne({ _id: otherServer.id }, { $set: { nextPosition: 490 } });
      const create = () =>
        api.call<Channel>('POST', `/api/servers/${otherServer.id}/channels`, { as: owner.as, body: { name: 'x', kind: 'text' } });
      const answers = await inParallel(30, create);
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 20 });
      expect(answers.find((one) => one.status === 400)?.body).to.have.property('code', 'too_many_channels');
      expect(await api.platform.db.channels.countDocuments({ serverId: otherServer.id })).to.equal(500);
      await send(api, 204, owner, 'DELETE', `/api/channels/${otherServer.general}`);
      expect(tally(await inParallel(2, create))).to.deep.equal({ 201: 1, 400: 1 });
    });

    it('a create that is repeated after a crash returns the channel that it made', async () => {
      const options = { as: manager.as, body: { name: 'mine', kind: 'text' }, headers: { 'Idempotency-Key': 'crash' } };
      const first = await api.call<Channel>('POST', path(), options);
      await loseAnswers(api);
      const again = await api.call<Channel>('POST', path(), options);
      expect([again.status, again.body]).to.deep.equal([201, first.body]);
      expect(await api.platform.db.channels.countDocuments({ serverId: server.id, name: 'mine' })).to.equal(1);
      expect(await api.platform.db.audit.countDocuments({ targetId: first.body.id })).to.equal(1);
    });
  });

  describe('PATCH /api/channels/{channelId}', () => {
    it('200 changes only the given fields', async () => {
      const { id } = await makeChannel(api, manager, server.id, { name: 'before' });
      const changed = { name: 'after', topic: 'talk', slowmodeSecs: 21_600, contentMode: 'spoiler', autoArchiveMinutes: 60 } as const;
      expect(await patch(id, changed)).to.deep.include(changed);
      expect(await patch(id, { topic: null })).to.deep.include({ ...changed, topic: null });
      expect(await patch(id, {})).to.deep.include({ ...changed, topic: null });
      expect(await read(member, id)).to.deep.include({ ...changed, topic: null });
    });

    it('a new parent moves the channel to the last position; the same parent does not', async () => {
      const category = await makeChannel(api, manager, server.id, { kind: 'category' });
      const inside = await makeChannel(api, manager, server.id, { parentId: category.id });
      const moving = await makeChannel(api, manager, server.id);
      const later = await makeChannel(api, manager, server.id);
      const moved = await patch(moving.id, { parentId: category.id });
      expect(moved.parentId).to.equal(category.id);
      expect(moved.position).to.be.greaterThan(later.position ?? 0);
      expect((await patch(inside.id, { parentId: category.id, name: 'same' })).position).to.equal(inside.position);
      expect((await patch(moving.id, { parentId: null })).position).to.be.greaterThan(moved.position ?? 0);
    });

    const bad: [what: string, kind: 'text' | 'voice' | 'category', body: unknown][] = [
      ['a null name', 'text', { name: null }],
      ['a topic of 1,025 characters', 'text', { topic: 'x'.repeat(1025) }],
      ['slow mode below 0', 'text', { slowmodeSecs: -1 }],
      ['slow mode above 21,600', 'text', { slowmodeSecs: 21_601 }],
      ['slow mode as text', 'text', { slowmodeSecs: '5' }],
      ['slow mode as null', 'text', { slowmodeSecs: null }],
      ['a fraction of a second', 'text', { slowmodeSecs: 0.5 }],
      ['an auto-archive time of 61 minutes', 'text', { autoArchiveMinutes: 61 }],
      ['kind voice', 'text', { kind: 'voice' }],
      ['archived for a text channel', 'text', { archived: true }],
      ['a parent that is no category', 'text', { parentId: unknownId }],
      ['a topic for a voice channel', 'voice', { topic: 'x' }],
      ['a kind for a voice channel', 'voice', { kind: 'text' }],
      ['a parent for a category', 'category', { parentId: unknownId }],
      ['slow mode for a category', 'category', { slowmodeSecs: 1 }],
    ];
    for (const [what, kind, body] of bad)
      it(`400 invalid_request for ${what}`, async () => {
        const made = await makeChannel(api, manager, server.id, { kind });
        await refused(api, [400, 'invalid_request'], manager, 'PATCH', `/api/channels/${made.id}`, body);
        expect(await read(owner, made.id)).to.deep.equal(made);
      });
  });

  describe('DELETE /api/channels/{channelId}', () => {
    it('204, then 404 for the channel and its messages', async () => {
      const channel = await makeChannel(api, manager, server.id);
      const bot = await makeBot(api, owner, server.id, view | post);
      const path = `/api/channels/${channel.id}`;
      const { id } = await send<{ id: string }>(api, 201, bot, 'POST', `${path}/messages`, { content: 'x' });
      await send(api, 204, manager, 'DELETE', path);
      for (const at of [path, `${path}/messages`, `${path}/messages/${id}`]) await refused(api, [404, 'not_found'], bot, 'GET', at);
      await refused(api, [404, 'not_found'], manager, 'DELETE', path);
    });

    it('204 for a category sets parentId of its channels to null, also of channels made at the same moment', async () => {
      const category = await makeChannel(api, manager, server.id, { kind: 'category' });
      const inside = await makeChannel(api, manager, server.id, { parentId: category.id });
      const body = { name: 'racing', kind: 'text', parentId: category.id };
      const racing = inParallel(10, () => api.call('POST', `/api/servers/${server.id}/channels`, { as: manager.as, body }));
      const [deletion, answers] = await Promise.all([api.call('DELETE', `/api/channels/${category.id}`, { as: manager.as }), racing]);
      expect(deletion.status).to.equal(204);
      for (const { status } of answers) expect(status).to.be.oneOf([201, 400]);
      expect((await read(member, inside.id)).parentId).to.equal(null);
      const { channels } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
      expect(channels.filter((one) => one.parentId === category.id)).to.deep.equal([]);
    });
  });
});
