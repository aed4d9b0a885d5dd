import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { ReadState } from '../../../lib/contract/read.ts';
import type { Server, ServerSummary } from '../../../lib/contract/server.ts';
import type { Sync } from '../../../lib/contract/sync.ts';
import { newChannel } from '../../../lib/domain/channels/channels.ts';
import { newMember as memberDoc } from '../../../lib/domain/members/changes.ts';
import type { RoleDoc, ServerDoc } from '../../../lib/store/mongo/models/server.ts';
import { type Answer, startMonitoredApi } from '../../harness/api.ts';
import {
  join,
  leave,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  makeThread,
  openDm,
  postMessage,
  setOverwrite,
} from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { insertMembers } from '../../harness/seed.ts';
import { newBot, newMember, useServer } from '../../harness/use.ts';

const path = '/api/users/@me/sync';
const view = permissionBits['View Channel'];

describe('GET /api/users/@me/sync', () => {
  const { api, owner, server, me, bot } = useServer({ me: newMember(), bot: newBot(view) }, { start: startMonitoredApi });

  const sync = (as: Caller, after?: string): Promise<Sync> =>
    send(api, 200, as, 'GET', after === undefined ? path : `${path}?after=${after}`);
  const post = async (channelId: string, content: string): Promise<string> => (await postMessage(api, owner, channelId, content)).id;

  /** The content of a sync, from the separate routes. */
  const separately = async (as: Caller): Promise<Omit<Sync, 'next'>> => {
    const list = await send<ServerSummary[]>(api, 200, as, 'GET', '/api/servers');
    const servers: Server[] = [];
    for (const { id } of list) servers.push(await send<Server>(api, 200, as, 'GET', `/api/servers/${id}`));
    const dms = await send<Sync['dms']>(api, 200, as, 'GET', '/api/users/@me/channels');
    return { servers, dms, reads: await send<ReadState[]>(api, 200, as, 'GET', '/api/users/@me/reads') };
  };

  /** All pages of a sync. */
  const pagesOf = async (as: Caller): Promise<Sync[]> => {
    const pages = [await sync(as)];
    for (let next = pages[0]?.next; typeof next === 'string'; next = pages.at(-1)?.next) pages.push(await sync(as, next));
    return pages;
  };

  /** Makes a server of the owner and this account with these numbers of channels and threads, by direct writes; returns its id. */
  const makeFilled = async (userId: string, counts: { channels: number; threads?: number }, isBot = false): Promise<string> => {
    const { db, ids } = api.platform;
    const serverId = ids.next();
    const createdAt = new Date();
    const model = (await db.servers.findOne({ _id: server.id })) as ServerDoc;
    await db.servers.insertOne({ ...model, _id: serverId, roles: [{ ...(model.roles[0] as RoleDoc), id: serverId }] });
    const fresh = { serverId, createdAt };
    const channels = Array.from({ length: counts.channels }, (_, position) =>
      newChannel({ ...fresh, _id: ids.next(), kind: 'text', name: `channel ${position}`, position }),
    );
    const threads = Array.from({ length: counts.threads ?? 0 }, (_, at) => ({
      ...newChannel({ ...fresh, _id: ids.next(), kind: 'thread', name: `thread ${at}`, position: -1 }),
      parentId: channels[0]?._id,
      autoArchiveMinutes: 1_440,
      threadOwnerId: ids.next(),
      messageCount: 0,
      lastActivityAt: new Date(createdAt.getTime() + at),
      archiveAt: new Date(createdAt.getTime() + 60_000_000),
    }));
    await db.channels.insertMany([...channels, ...threads] as never);
    const members = [memberDoc(api.platform, serverId, owner.id, false), memberDoc(api.platform, serverId, userId, isBot)];
    await insertMembers(api.platform, members);
    return serverId;
  };

  it('400 for a malformed cursor, and empty lists for a person without servers', async () => {
    expect(await sync(await makePerson(api))).to.deep.equal({ servers: [], dms: [], reads: [], next: null });
    await refused(api, [400, 'invalid_request'], me, 'GET', `${path}?after=x`);
  });

  it('equals the responses of the separate routes: servers, channels, threads, roles, DMs, read marks and mentions', async () => {
    const other = await makeServer(api, owner);
    await join(api, owner, other.id, me);
    for (const kind of ['announcement', 'voice', 'category'] as const) await makeChannel(api, owner, other.id, { kind });
    const [old, active] = [await makeThread(api, owner, other.general), await makeThread(api, owner, other.general)];
    await post(old.id, `to <@${me.id}>`);
    const read = await post(server.general, 'one');
    for (const content of ['@everyone', `<@${me.id}>`]) await post(server.general, content);
    await send(api, 204, me, 'PUT', `/api/channels/${server.general}/read`, { messageId: read });
    await send(api, 204, me, 'PUT', `/api/channels/${old.id}/read`, { messageId: old.id });
    const dm = await openDm(api, owner, me);
    const last = await post(dm.id, 'hello');
    const { next, ...all } = await sync(me);
    expect(next).to.equal(null);
    expect(all).to.deep.equal(await separately(me));
    expect(all.servers.map(({ id }) => id)).to.deep.equal([server.id, other.id]);
    expect(all.servers[1]?.channels.map(({ id }) => id)).to.include.members([old.id, active.id]);
    expect(all.reads.find(({ channelId }) => channelId === server.general)).to.include({ readMessageId: read, mentions: 2 });
    expect(all.reads.find(({ channelId }) => channelId === old.id)).to.include({ readMessageId: old.id, mentions: 1 });
    expect(all.dms).to.have.lengthOf(1);
    expect(all.dms[0]).to.include({ id: dm.id, lastMessageId: last });
  });

  it('omits channels that the caller cannot view, with their threads and read marks', async () => {
    const hidden = await makeChannel(api, owner, server.id);
    const thread = await makeThread(api, owner, hidden.id);
    await post(hidden.id, `<@${me.id}>`);
    await send(api, 204, me, 'PUT', `/api/channels/${thread.id}/read`, { messageId: thread.id });
    const seen = async (as: Caller): Promise<boolean[]> => {
      const text = JSON.stringify(await sync(as));
      return [hidden.id, thread.id].map((id) => text.includes(id));
    };
    expect(await seen(me)).to.deep.equal([true, true]);
    await setOverwrite(api, owner, hidden.id, server.id, 0, view);
    for (const caller of [me, bot]) expect(await seen(caller)).to.deep.equal([false, false]);
    expect(await seen(owner)).to.deep.equal([true, true]);
    await setOverwrite(api, owner, hidden.id, me.id, view, 0);
    expect(await seen(me)).to.deep.equal([true, true]);
    expect(await seen(await makePerson(api))).to.deep.equal([false, false]);
    const gone = await makeMember(api, owner, server.id);
    await leave(api, gone, server.id);
    expect((await sync(gone)).servers).to.deep.equal([]);
  });

  it('a bot gets its servers, its DMs, and the newest message of each channel', async () => {
    const last = await post(server.general, 'for the bot');
    const dm = await openDm(api, bot, me);
    const { servers, dms, reads } = await sync(bot);
    expect(servers).to.deep.equal([await send(api, 200, bot, 'GET', `/api/servers/${server.id}`)]);
    expect(dms).to.deep.equal(await send(api, 200, bot, 'GET', '/api/users/@me/channels'));
    expect(dms[0]?.id).to.equal(dm.id);
    expect(reads.find(({ channelId }) => channelId === server.general)).to.include({ readMessageId: null, lastMessageId: last });
  });

  describe('ETag', () => {
    const ask = (as: Caller, tag?: string): Promise<Answer<Sync>> =>
      api.call('GET', path, { as: as.as, ...(tag === undefined ? {} : { headers: { 'If-None-Match': tag } }) });

    it('304 without a body while nothing changed, 200 with another tag after a change', async () => {
      const { headers, body } = await ask(me);
      const tag = headers.get('ETag') ?? '';
      expect(tag).to.match(/^"[\w-]{43}"$/);
      for (const known of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
        const again = await ask(me, known);
        expect([again.status, again.body, again.headers.get('ETag')], known).to.deep.equal([304, undefined, tag]);
      }
      expect((await ask(me, '"x"')).body).to.deep.equal(body);
      await post(server.general, 'news');
      const later = await ask(me, tag);
      expect(later.status).to.equal(200);
      expect(later.headers.get('ETag')).to.not.equal(tag);
    });

    it('HEAD has the same ETag; errors and other routes have none', async () => {
      const head = await fetch(api.url + path, { method: 'HEAD', headers: { Authorization: me.as } });
      expect(head.headers.get('ETag')).to.equal((await ask(me)).headers.get('ETag'));
      expect((await api.call('GET', path)).headers.get('ETag')).to.equal(null);
      expect((await api.call('GET', '/api/servers', { as: me.as })).headers.get('ETag')).to.equal(null);
    });
  });

  describe('pages and database commands', () => {
    it('sends the same database commands for 1 server and for 41 with unread messages and threads', async () => {
      const person = await makePerson(api);
      const countCommands = async (): Promise<string[]> => {
        await sync(person); // stores the newest message of each channel
        api.commands.length = 0;
        await sync(person);
        return api.commands.slice();
      };
      const fill = async (): Promise<void> => {
        const serverId = await makeFilled(person.id, { channels: 2, threads: 2 });
        const [first] = (await send<Server>(api, 200, person, 'GET', `/api/servers/${serverId}`)).channels;
        await post(first?.id ?? '', `<@${person.id}>`);
      };
      await fill();
      const few = await countCommands();
      for (let n = 0; n < 40; n++) await fill();
      const many = await countCommands();
      const { servers, reads } = await sync(person);
      expect([servers.length, reads.filter(({ mentions }) => mentions === 1).length]).to.deep.equal([41, 41]);
      expect(many.filter((name) => name !== 'getMore')).to.deep.equal(few);
      expect(many.length).to.be.at.most(14);
    });

    it('a page ends before a server with too many channels and has only its own read marks; DMs are on the first page', async () => {
      const person = await makePerson(api);
      await join(api, owner, server.id, person);
      await openDm(api, person, owner);
      const ids = [server.id];
      for (let n = 0; n < 3; n++) ids.push(await makeFilled(person.id, { channels: 400 }));
      const pages = await pagesOf(person);
      expect(pages.map(({ servers }) => servers.map(({ id }) => id))).to.deep.equal([ids.slice(0, 3), ids.slice(3)]);
      expect(pages.map(({ dms }) => dms.length)).to.deep.equal([1, 0]);
      for (const { servers, reads, dms } of pages) {
        const channelIds = servers.flatMap(({ channels }) => channels.map(({ id }) => id));
        expect(reads.map(({ channelId }) => channelId)).to.have.members([...channelIds, ...dms.map(({ id }) => id)]);
      }
    });

    it('a page ends before a server with too many threads; a server with more than 1,000 has its newest', async () => {
      const person = await makePerson(api);
      const ids: string[] = [];
      for (const threads of [600, 600, 0, 1_005, 3]) ids.push(await makeFilled(person.id, { channels: 1, threads }));
      const pages = await pagesOf(person);
      expect(pages.map(({ servers }) => servers.map(({ id }) => id))).to.deep.equal([[ids[0]], [ids[1], ids[2]], [ids[3]], [ids[4]]]);
      const servers = pages.flatMap((page) => page.servers);
      expect(servers).to.deep.equal((await separately(person)).servers);
      expect(servers.map(({ channels }) => channels.length)).to.deep.equal([601, 601, 1, 1_001, 4]);
    });

    it('a bot in more than 100 servers receives them in pages', async () => {
      const busy = await makeBot(api, owner, server.id);
      for (let n = 0; n < 110; n++) await makeFilled(busy.id, { channels: 1 }, true);
      const pages = await pagesOf(busy);
      expect(pages.map(({ servers }) => servers.length)).to.deep.equal([100, 11]);
      expect(new Set(pages.flatMap(({ servers }) => servers.map(({ id }) => id))).size).to.equal(111);
    });
  });
});
