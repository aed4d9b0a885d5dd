import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { sweepNewMessages } from '../../lib/domain/messages/new-messages.ts';
import { measureWaiting, relayEvents } from '../../lib/domain/relay/relay.ts';
import { markKey } from '../../lib/store/redis/log/append.ts';
import { createKeys, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { createMessageOrder } from '../../lib/store/redis/message-order.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { openDm, postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { withLog } from '../harness/intercept.ts';
import { entriesOf } from '../harness/log.ts';
import { sweepNewMessagesNow } from '../harness/new-messages.ts';
import { send } from '../harness/requests.ts';
import { connectRedis } from '../harness/stores.ts';
import { newMember, use, useServer } from '../harness/use.ts';

describe('Messages: new ones, whose MESSAGE_CREATE is not in an outbox', () => {
  const { api, owner, server, peer } = useServer({ peer: newMember() }, { each: true, start: startTestApiWithWorker });
  const redis = use(() => connectRedis(api.platform.config));

  const post = async (nonce?: string): Promise<string> =>
    (await send<Message>(api, 201, owner, 'POST', `/api/channels/${server.general}/messages`, { content: 'x', nonce })).id;
  const relay = (channelId = server.general): Promise<void> => relayEvents(api.worker, 'channel', channelId);
  const stored = (id: string) => api.platform.db.messages.findOne({ _id: id });
  const isPending = async (id: string): Promise<boolean> => (await stored(id))?.outboxAt !== undefined;
  const created = async (place = serverPlace(server.id)): Promise<string[]> =>
    (await entriesOf(api.worker.config, place)).flatMap(({ name, data }) => (name === 'MESSAGE_CREATE' ? (data.id as string) : []));

  it('one that no worker was woken for is sent after the sweep, once, with its nonce', async () => {
    const [first, second] = [await post('of the sender'), await post()];
    await sweepNewMessagesNow(api.worker);
    expect([await isPending(first), await isPending(second)]).to.deep.equal([true, true]);
    await sweepNewMessagesNow(api.worker);
    await relay();
    await relay();
    expect(await created()).to.deep.equal([first, second]);
    const [entry] = (await entriesOf(api.worker.config, serverPlace(server.id))).filter(({ data }) => data.id === first);
    expect(entry?.data.nonce).to.equal('of the sender');
  });

  it('one whose id is that up to which a run of the sweep looks is sent, too', async () => {
    const id = await post();
    await sweepNewMessagesNow(api.worker, id);
    await sweepNewMessagesNow(api.worker);
    await relay();
    expect(await created()).to.deep.equal([id]);
  });

  it('the age of pending events tells of it when no sweep runs', async () => {
    await relayEvents(api.worker, 'server', server.id); // acknowledged, unlike what a relay of the channel relays first
    await post();
    const later = { ...api.worker, now: () => Date.now() + 600_000 };
    expect((await measureWaiting(later)).ageMs).to.be.within(600_000, 660_000);
    await sweepNewMessagesNow(api.worker);
    await relay();
    expect((await measureWaiting(later)).ageMs).to.equal(0);
  });

  it('the sweep writes to no message that was relayed', async () => {
    const id = await post();
    await relay();
    const before = await stored(id);
    await sweepNewMessagesNow(api.worker);
    expect(await stored(id)).to.deep.equal(before);
    expect((await api.worker.logState.readAnnounced()) > id).to.equal(true);
    await relay();
    expect(await created()).to.deep.equal([id]);
  });

  it('a relay reads on after the newest relayed message, however many messages the sweep has not seen', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 120; n++) ids.push(await post());
    await relay();
    ids.push(await post());
    let appended = 0;
    const append: typeof api.worker.eventLog.append = (place, events, options) => {
      appended += events.length;
      return api.worker.eventLog.append(place, events, options);
    };
    await relayEvents(withLog(api.worker, { append }), 'channel', server.general);
    expect(appended).to.equal(1);
    expect(await created()).to.deep.equal(ids);
  });

  it('one of a direct message is pending until both participants have it', async () => {
    const { id: channelId } = await openDm(api, owner, peer);
    const { id } = await postMessage(api, owner, channelId);
    let calls = 0;
    const append: typeof api.worker.eventLog.append = (...args) =>
      ++calls === 2 ? Promise.reject(new Error('died')) : api.worker.eventLog.append(...args);
    const fault = await relayEvents(withLog(api.worker, { append }), 'channel', channelId).catch((error: unknown) => error);
    expect(fault).to.be.an('error').with.property('message', 'died');
    await sweepNewMessagesNow(api.worker);
    expect(await isPending(id)).to.equal(true);
    await relay(channelId);
    for (const person of [owner, peer]) expect(await created(`account:${person.id}`)).to.deep.equal([id]);
  });

  it('an edit and a deletion before the first relay come after it, and instead of it', async () => {
    const [edited, deleted] = [await post(), await post()];
    const path = (id: string): string => `/api/channels/${server.general}/messages/${id}`;
    await send(api, 200, owner, 'PATCH', path(edited), { content: 'y' });
    await send(api, 204, owner, 'DELETE', path(deleted));
    await sweepNewMessagesNow(api.worker);
    await relay();
    const sent = (await entriesOf(api.worker.config, serverPlace(server.id))).filter(({ name }) => name.startsWith('MESSAGE'));
    expect(sent.map(({ name, data }) => [name, data.id])).to.deep.equal([
      ['MESSAGE_CREATE', edited],
      ['MESSAGE_UPDATE', edited],
      ['MESSAGE_DELETE', deleted],
    ]);
    expect(await stored(deleted)).to.equal(null);
  });

  it('one that is older than those that were sent, because Redis lost that its insert was under way, is sent after all', async () => {
    const late = await post();
    const message = await stored(late);
    await api.platform.db.messages.deleteOne({ _id: late });
    const newest = await post();
    await relay();
    await api.platform.db.messages.insertOne(message as never);
    await sweepNewMessagesNow(api.worker);
    await relay();
    expect(await created()).to.deep.equal([newest, late]);
  });

  it('its mark expires only after the sweep has seen it', async () => {
    const mark = markKey(
      createKeys(api.worker.config.REDIS_PREFIX, api.worker.config.LOG_PARTITIONS),
      serverPlace(server.id),
      await post(),
    );
    await relay();
    expect(await redis.pttl(mark)).to.be.greaterThan(23 * 3_600_000);
    await sweepNewMessagesNow(api.worker);
    await waitUntil(async () => (await redis.pttl(mark)) <= 600_000, 'the mark to expire');
  });

  it('one whose insert takes effect after the database was to give it up is sent after all', async () => {
    const template = await stored(await post());
    await relay();
    const { config, ids } = api.platform;
    const order = createMessageOrder(redis, createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS), ids, 0.01);
    const reserved = await order.reserve([server.general]);
    const late = reserved.ids[0] as string;
    order.releaseFailed(reserved, Object.assign(new Error('the answer was lost'), { code: 'EPIPE', syscall: 'write' }));
    await waitUntil(async () => (await order.readEndedInserts()).doubtful.some(({ _id }) => _id === late), 'the insert to be overdue');
    const newest = await post();
    await relay();
    await sweepNewMessagesNow(api.worker);
    await api.platform.db.messages.insertOne({ ...template, _id: late, isNew: true } as never);
    await sweepNewMessages({ ...api.worker, messageOrder: order });
    await relay();
    expect((await created()).slice(1)).to.deep.equal([newest, late]);
  });
});
