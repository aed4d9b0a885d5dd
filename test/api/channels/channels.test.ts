import { expect } from 'chai';
import type { Channel, ChannelPatch } from '../../../lib/contract/channel.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
  tally,
} from '../../harness/factories.ts';

const [view, post, manageChannels] = [1, 2, 1 << 6];
const unknownId = '1000000000000000000';

describe('channels', () => {
  let api: TestApi;
  let owner: Caller;
  let manager: Caller;
  let member: Caller;
  let outsider: Caller;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    manager = await makeMember(api, owner, server.id, manageChannels);
    member = await makeMember(api, owner, server.id);
    outsider = await makePerson(api);
  });
  after(() => api.close());
  const read = (as: Caller, id: string): Promise<Channel> => send(api, 200, as, 'GET', `/api/channels/${id}`);
  const patch = (id: string, body: ChannelPatch, as = manager): Promise<Channel> =>
    send(api, 200, as, 'PATCH', `/api/channels/${id}`, body);

  describe('POST /api/servers/{serverId}/channels', () => {
    const path = (): string => `/api/servers/${server.id}/channels`;

    it('201 for each kind, with null where a field does not apply', async () => {
      const shared = { serverId: server.id, parentId: null, overwrites: [], archived: null, threadOwnerId: null, threadStarterId: null };
      const posts = { topic: null, slowmodeSecs: 0, contentMode: 'default', autoArchiveMinutes: null };
      const silent = { topic: null, slowmodeSecs: null, contentMode: null, autoArchiveMinutes: null };
      for (const [kind, fields] of [
        ['text', posts],
        ['announcement', posts],
        ['voice', silent],
        ['category', silent],
      ] as const) {
        const made = await makeChannel(api, manager, server.id, { name: ` ${kind} `, kind });
        const { id, position: _anywhere, ...rest } = made;
        expect(rest).to.deep.equal({ name: kind, kind, messageCount: null, ...shared, ...fields });
        expect(await read(member, id)).to.deep.equal(made);
      }
    });

    it('a channel goes last, and no two share a position, also of 20 made at once', async () => {
      const category = await makeChannel(api, manager, server.id, { kind: 'category' });
      const made = await Promise.all(Array.from({ length: 20 }, () => makeChannel(api, manager, server.id, { parentId: category.id })));
      expect(made.every((one) => one.parentId === category.id)).to.equal(true);
      expect(new Set(made.map((one) => one.position)).size).to.equal(20);
      const last = await makeChannel(api, manager, server.id);
      expect(last.position).to.be.greaterThan(Math.max(...made.map((one) => one.position ?? 0)));
    });

    it('403 missing_permission without Manage Channels', async () => {
      const { missing } = await refused(api, [403, 'missing_permission'], member, 'POST', path(), { name: 'x', kind: 'text' });
      expect(missing).to.deep.equal(['Manage Channels']);
    });

    it('404 outside the server', () => refused(api, [404, 'not_found'], outsider, 'POST', path(), { name: 'x', kind: 'text' }));

    const bad: [what: string, body: unknown][] = [
      ['no kind', { name: 'x' }],
      ['a thread', { name: 'x', kind: 'thread' }],
      ['no name', { kind: 'text' }],
      ['a blank name', { name: ' ', kind: 'text' }],
      ['a long name', { name: 'x'.repeat(101), kind: 'text' }],
      ['a malformed parent', { name: 'x', kind: 'text', parentId: 'x' }],
      ['an unknown parent', { name: 'x', kind: 'text', parentId: unknownId }],
    ];
    for (const [what, body] of bad)
      it(`400 invalid_request for ${what}`, () => refused(api, [400, 'invalid_request'], manager, 'POST', path(), body));

    it('400 for a parent that is no category, another server’s, one the caller cannot see, and for a category in one', async () => {
      const elsewhere = await makeServer(api, owner);
      const foreign = await makeChannel(api, owner, elsewhere.id, { kind: 'category' });
      const hidden = await makeChannel(api, owner, server.id, { kind: 'category' });
      await setOverwrite(api, owner, hidden.id, server.id, 0, view);
      for (const parentId of [server.general, foreign.id, hidden.id])
        await refused(api, [400, 'invalid_request'], manager, 'POST', path(), { name: 'x', kind: 'text', parentId });
      const category = await makeChannel(api, owner, server.id, { kind: 'category' });
      await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { name: 'x', kind: 'category', parentId: category.id });
    });

    it('400 too_many_channels: of 30 at once from 490 on, 10 are made, and one more after a delete', async () => {
      const place = await makeServer(api, owner);
      const rows = Array.from({ length: 489 }, (_, at) => ({
        _id: String(2n * 10n ** 18n + BigInt(at)),
        slot: at + 1,
        serverId: place.id,
        kind: 'text' as const,
        name: `c${at}`,
        position: at + 1,
        parentId: null,
        topic: null,
        slowmodeSecs: 0,
        contentMode: 'default' as const,
        autoArchiveMinutes: null,
        archived: false,
        overwrites: [],
        createdAt: new Date(),
      }));
      await api.platform.db.channels.insertMany(rows);
      await api.platform.db.servers.updateOne({ _id: place.id }, { $set: { nextPosition: 490 } });
      const create = () =>
        api.call<Channel>('POST', `/api/servers/${place.id}/channels`, { as: owner.as, body: { name: 'x', kind: 'text' } });
      const answers = await Promise.all(Array.from({ length: 30 }, create));
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 20 });
      expect(answers.find((one) => one.status === 400)?.body).to.have.property('code', 'too_many_channels');
      expect(await api.platform.db.channels.countDocuments({ serverId: place.id })).to.equal(500);
      await send(api, 204, owner, 'DELETE', `/api/channels/${place.general}`);
      expect(tally(await Promise.all([create(), create()]))).to.deep.equal({ 201: 1, 400: 1 });
    });

    it('a create taken up after a crash takes its own channel', async () => {
      const options = { as: manager.as, body: { name: 'mine', kind: 'text' }, headers: { 'Idempotency-Key': 'crash' } };
      const first = await api.call<Channel>('POST', path(), options);
      await api.platform.db.idempotency.updateMany({}, { $set: { answer: null, claimedAt: new Date(0) } });
      const again = await api.call<Channel>('POST', path(), options);
      expect([again.status, again.body]).to.deep.equal([201, first.body]);
      expect(await api.platform.db.channels.countDocuments({ serverId: server.id, name: 'mine' })).to.equal(1);
      expect(await api.platform.db.audit.countDocuments({ targetId: first.body.id })).to.equal(1);
    });
  });

  describe('GET /api/channels/{channelId}', () => {
    it('403 missing_permission without View Channel, 404 outside the server and for an unknown id', async () => {
      const hidden = await makeChannel(api, owner, server.id);
      await setOverwrite(api, owner, hidden.id, server.id, 0, view);
      const { missing } = await refused(api, [403, 'missing_permission'], member, 'GET', `/api/channels/${hidden.id}`);
      expect(missing).to.deep.equal(['View Channel']);
      await read(owner, hidden.id);
      for (const [as, id] of [
        [outsider, hidden.id],
        [owner, unknownId],
        [owner, 'x'],
      ] as const)
        for (const method of ['GET', 'DELETE']) await refused(api, [404, 'not_found'], as, method, `/api/channels/${id}`);
    });
  });

  describe('PATCH /api/channels/{channelId}', () => {
    it('200 changes what is given and leaves the rest', async () => {
      const { id } = await makeChannel(api, manager, server.id, { name: 'before' });
      const changed = { name: 'after', topic: 'talk', slowmodeSecs: 21_600, contentMode: 'spoiler', autoArchiveMinutes: 60 } as const;
      expect(await patch(id, changed)).to.deep.include(changed);
      expect(await patch(id, { topic: null })).to.deep.include({ ...changed, topic: null });
      expect(await patch(id, {})).to.deep.include({ ...changed, topic: null });
      expect(await read(member, id)).to.deep.include({ ...changed, topic: null });
    });

    it('kind goes between text and announcement', async () => {
      const { id } = await makeChannel(api, manager, server.id);
      expect((await patch(id, { kind: 'announcement' })).kind).to.equal('announcement');
      expect((await patch(id, { kind: 'text' })).kind).to.equal('text');
    });

    it('a moved channel goes last; one that stays keeps its position', async () => {
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
      ['a topic of 1025', 'text', { topic: 'x'.repeat(1025) }],
      ['slow mode below 0', 'text', { slowmodeSecs: -1 }],
      ['slow mode above 21600', 'text', { slowmodeSecs: 21_601 }],
      ['slow mode as text', 'text', { slowmodeSecs: '5' }],
      ['half a second', 'text', { slowmodeSecs: 0.5 }],
      ['another content mode', 'text', { contentMode: 'adult' }],
      ['61 minutes', 'text', { autoArchiveMinutes: 61 }],
      ['kind voice', 'text', { kind: 'voice' }],
      ['archived of a text channel', 'text', { archived: true }],
      ['a parent that is no category', 'text', { parentId: unknownId }],
      ['a topic of a voice channel', 'voice', { topic: 'x' }],
      ['kind of a voice channel', 'voice', { kind: 'text' }],
      ['a parent of a category', 'category', { parentId: unknownId }],
      ['slow mode of a category', 'category', { slowmodeSecs: 1 }],
    ];
    for (const [what, kind, body] of bad)
      it(`400 invalid_request for ${what}`, async () => {
        const made = await makeChannel(api, manager, server.id, { kind });
        await refused(api, [400, 'invalid_request'], manager, 'PATCH', `/api/channels/${made.id}`, body);
        expect(await read(owner, made.id)).to.deep.equal(made);
      });

    it('403 missing_permission without Manage Channels, 404 outside', async () => {
      const path = `/api/channels/${server.general}`;
      expect((await refused(api, [403, 'missing_permission'], member, 'PATCH', path, { name: 'x' })).missing).to.deep.equal([
        'Manage Channels',
      ]);
      await refused(api, [404, 'not_found'], outsider, 'PATCH', path, { name: 'x' });
    });
  });

  describe('DELETE /api/channels/{channelId}', () => {
    it('204, and channel and messages are gone for everyone at once', async () => {
      const channel = await makeChannel(api, manager, server.id);
      const bot = await makeBot(api, owner, server.id, view | post);
      const path = `/api/channels/${channel.id}`;
      const { id } = await send<{ id: string }>(api, 201, bot, 'POST', `${path}/messages`, { content: 'x' });
      await refused(api, [403, 'missing_permission'], member, 'DELETE', path);
      await send(api, 204, manager, 'DELETE', path);
      for (const gone of [path, `${path}/messages`, `${path}/messages/${id}`]) await refused(api, [404, 'not_found'], bot, 'GET', gone);
      await refused(api, [404, 'not_found'], manager, 'DELETE', path);
    });

    it('a category leaves its channels with parentId null, also those put into it at the same moment', async () => {
      const category = await makeChannel(api, manager, server.id, { kind: 'category' });
      const inside = await makeChannel(api, manager, server.id, { parentId: category.id });
      const body = { name: 'racing', kind: 'text', parentId: category.id };
      const racing = Array.from({ length: 10 }, () => api.call('POST', `/api/servers/${server.id}/channels`, { as: manager.as, body }));
      const [gone, ...answers] = await Promise.all([api.call('DELETE', `/api/channels/${category.id}`, { as: manager.as }), ...racing]);
      expect(gone.status).to.equal(204);
      for (const { status } of answers) expect(status).to.be.oneOf([201, 400]);
      expect((await read(member, inside.id)).parentId).to.equal(null);
      const { channels } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
      expect(channels.filter((one) => one.parentId === category.id)).to.deep.equal([]);
    });
  });
});
