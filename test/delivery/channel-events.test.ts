import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import { overdueKeys, relay } from '../../lib/domain/events/relay.ts';
import type { ChannelDoc } from '../../lib/store/mongo/models/server.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import {
  type Caller,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  send,
  setOverwrite,
} from '../harness/factories.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

const view = 1;
const names = ['CHANNEL_CREATE', 'CHANNEL_UPDATE', 'CHANNEL_DELETE'];

describe('the events of channels', () => {
  let whole: Whole;
  let owner: Caller;
  let server: Place;
  /** An opted-in bot and a person who see what everyone sees; the owner, who sees all; a bot that did not ask. */
  let bot: Ear;
  let person: Ear;
  let boss: Ear;
  let plain: Ear;
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    const [asking, other] = [await makeBot(whole, owner, server.id), await makeBot(whole, owner, server.id)];
    const member = await makeMember(whole, owner, server.id);
    [bot, person, boss, plain] = [
      await listenAs(whole, asking.token, names),
      await listenAs(whole, member.token),
      await listenAs(whole, owner.token),
      await listenAs(whole, other.token),
    ];
  });
  after(async () => {
    await Promise.all([bot, person, boss, plain].map((ear) => ear.client.close()));
    await whole.close();
  });

  const about = (ear: Ear, ...ids: string[]): Dispatch[] =>
    ear.heard.filter(({ t, d }) => names.includes(t) && (ids.includes(String(d.id)) || ids.includes(String(d.parentId))));
  const told = (ear: Ear, ...ids: string[]): string[] =>
    about(ear, ...ids).map(({ t, d }) => (typeof d.name === 'string' ? `${t} ${d.name}` : t));
  /** Waits until everyone who may hear of it has heard that a fresh channel was made: what was owed before it was delivered then. */
  const settle = async (): Promise<void> => {
    const { id } = await makeChannel(whole, owner, server.id);
    await Promise.all([bot, person, boss].map((ear) => ear.hears(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === id)));
  };
  const patch = (id: string, body: object): Promise<Channel> => send(whole, 200, owner, 'PATCH', `/api/channels/${id}`, body);
  const thread = (parentId: string, name = 'thread'): Promise<Channel> =>
    send(whole, 201, owner, 'POST', `/api/channels/${parentId}/threads`, { name });

  it('create, change, overwrites and delete of a channel reach an opted-in bot and people, in order, with the Channel', async () => {
    const made = await makeChannel(whole, owner, server.id, { name: 'first' });
    await Promise.all([bot, person].map((ear) => ear.hears(({ d }) => d.id === made.id)));
    const changed = await patch(made.id, { name: 'second' });
    await Promise.all([bot, person].map((ear) => ear.hears(({ d }) => d.id === made.id && d.name === 'second')));
    const overwritten = await setOverwrite(whole, owner, made.id, server.id, 2, 0);
    await Promise.all([bot, person].map((ear) => ear.hears(({ d }) => d.id === made.id && (d.overwrites as unknown[])?.length === 1)));
    await send(whole, 204, owner, 'DELETE', `/api/channels/${made.id}/overwrites/${server.id}`);
    await settle();
    await send(whole, 204, owner, 'DELETE', `/api/channels/${made.id}`);
    await Promise.all([bot, person].map((ear) => ear.hears(({ t, d }) => t === 'CHANNEL_DELETE' && d.id === made.id)));
    for (const ear of [bot, person])
      expect(about(ear, made.id).map(({ t, d }) => [t, d])).to.deep.equal([
        ['CHANNEL_CREATE', made],
        ['CHANNEL_UPDATE', changed],
        ['CHANNEL_UPDATE', overwritten],
        ['CHANNEL_UPDATE', changed],
        ['CHANNEL_DELETE', { id: made.id, serverId: server.id }],
      ]);
    expect(told(plain, made.id)).to.deep.equal([]);
  });

  it('threads: made, changed, archived and woken', async () => {
    const { id } = await thread(server.general, 'talk');
    await bot.hears(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === id);
    await patch(id, { archived: true });
    await bot.hears(({ d }) => d.id === id && d.archived === true);
    await send(whole, 201, owner, 'POST', `/api/channels/${id}/messages`, { content: 'x' });
    await settle();
    for (const ear of [bot, person])
      expect(about(ear, id).map(({ t, d }) => [t, d.archived, d.threadOwnerId, d.messageCount])).to.deep.equal([
        ['CHANNEL_CREATE', false, owner.id, 0],
        ['CHANNEL_UPDATE', true, owner.id, 0],
        ['CHANNEL_UPDATE', false, owner.id, 1],
      ]);
  });

  it('who cannot view the channel hears of neither it nor its threads, alive or deleted', async () => {
    const made = await makeChannel(whole, owner, server.id, { name: 'hidden' });
    await settle();
    await setOverwrite(whole, owner, made.id, server.id, 0, view);
    await settle();
    const known = [bot, person].map((ear) => told(ear, made.id).length);
    await patch(made.id, { name: 'renamed' });
    const { id } = await thread(made.id, 'secret');
    await settle();
    await send(whole, 204, owner, 'DELETE', `/api/channels/${made.id}`);
    await boss.hears(({ t, d }) => t === 'CHANNEL_DELETE' && d.id === id);
    await settle();
    expect([bot, person].map((ear) => told(ear, made.id, id).length)).to.deep.equal(known);
    expect(told(boss, made.id, id).slice(-4)).to.deep.equal([
      'CHANNEL_UPDATE renamed',
      'CHANNEL_CREATE secret',
      'CHANNEL_DELETE',
      'CHANNEL_DELETE',
    ]);
  });

  it('a deleted channel takes its threads along: one CHANNEL_DELETE each, to who could view it', async () => {
    const made = await makeChannel(whole, owner, server.id);
    const threads = await Promise.all(Array.from({ length: 5 }, () => thread(made.id)));
    await settle();
    await send(whole, 204, owner, 'DELETE', `/api/channels/${made.id}`);
    const ids = [made.id, ...threads.map((one) => one.id)];
    for (const ear of [bot, person]) {
      for (const id of ids) await ear.hears(({ t, d }) => t === 'CHANNEL_DELETE' && d.id === id);
      const gone = about(ear, ...ids).filter(({ t }) => t === 'CHANNEL_DELETE');
      expect(gone.map(({ d }) => d.id)).to.have.members(ids);
      expect(gone[0]?.d).to.deep.equal({ id: made.id, serverId: server.id });
    }
  });

  it('a deleted category tells that its channels stand outside any now', async () => {
    const category = await makeChannel(whole, owner, server.id, { kind: 'category' });
    const inside = await makeChannel(whole, owner, server.id, { parentId: category.id, name: 'inside' });
    await settle();
    await send(whole, 204, owner, 'DELETE', `/api/channels/${category.id}`);
    const { d } = await bot.hears((event) => event.t === 'CHANNEL_UPDATE' && event.d.id === inside.id);
    expect(d.parentId).to.equal(null);
    await bot.hears(({ t, d: gone }) => t === 'CHANNEL_DELETE' && gone.id === category.id);
  });

  it('drained by many at once while access changes, each event comes once', async () => {
    const drains = async (): Promise<void> => {
      for (let n = 0; n < 20; n++) await relay(whole.worker, 'server', server.id);
    };
    const changes = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) await whole.platform.versions.changing({ servers: [server.id] }, () => Promise.resolve());
    };
    const made = await makeChannel(whole, owner, server.id, { name: 'busy' });
    const [threads] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, (_, n) => thread(made.id, `t${n}`))),
      drains(),
      drains(),
      changes(),
    ]);
    await settle();
    for (const ear of [bot, person]) {
      const created = about(ear, made.id, ...threads.map((one) => one.id)).map(({ d }) => d.id);
      expect(created).to.have.members([made.id, ...threads.map((one) => one.id)]);
    }
  });

  it('the sweep delivers what no job did, once, and leaves nothing owed', async () => {
    const { collection } = whole.platform.db.channels;
    const { id } = await makeChannel(whole, owner, server.id, { name: 'before' });
    await settle();
    // As if a process had died between the write and its nudge.
    const entry = { id: whole.platform.ids.next(), name: 'CHANNEL_UPDATE' };
    const lost = { ob: [entry], name: 'after', obAt: new Date(Date.now() - 1_000) };
    await collection.updateOne({ _id: id as never }, { $set: lost });
    expect(await overdueKeys(whole.worker, 'server')).to.deep.equal([]);
    await collection.updateOne({ _id: id as never }, { $set: { obAt: new Date(Date.now() - 2_500) } });
    await bot.hears(({ d }) => d.id === id && d.name === 'after');
    await settle();
    expect(told(bot, id)).to.deep.equal(['CHANNEL_CREATE before', 'CHANNEL_UPDATE after']);
    // Acknowledgements are written together, some time after the events were heard.
    await until(async () => !((await whole.platform.db.channels.findOne({ _id: id }).lean()) as ChannelDoc).ob, 'the acknowledgement');
  });
});
