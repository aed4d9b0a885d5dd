import { expect } from 'chai';
import { composeId } from '../../lib/base/ids.ts';
import { limits } from '../../lib/base/limits.ts';
import { recountThreads } from '../../lib/domain/channels/thread-activity.ts';
import { sweepReactions } from '../../lib/domain/messages/reaction-changes.ts';
import { relayEvents, sweepOutbox } from '../../lib/domain/relay/relay.ts';
import { insertMissing } from '../../lib/store/mongo/insert.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { makeChannel, makeThread } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { beforeNextQuery, interceptNext, withLog } from '../harness/intercept.ts';
import { entriesOf } from '../harness/log.ts';
import { sweepNewMessagesNow } from '../harness/new-messages.ts';
import { listOverdueKeys } from '../harness/overdue-keys.ts';
import { inParallel, tally } from '../harness/requests.ts';
import { use } from '../harness/use.ts';

const emojis = ['😀', '😁', '😂', '😃', '😄', '😅', '😆', '😇', '😈', '😉', '😊', '😋', '😌', '😍', '😎', '😏', '😐', '😑', '😒', '😓'];

describe('Events: pending events while no worker runs', () => {
  const fixture = use(startInteractionFixture);
  let worker: WorkerPlatform;
  before(() => {
    worker = fixture.worker;
  });

  const call = (method: string, path: string, body?: unknown) =>
    fixture.api.call<{ id: string; code?: string }>(method, path, { as: fixture.asPerson, body });
  const at = (path = ''): string => `/api/channels/${fixture.channelId}${path}`;
  const post = async (content = 'x', path = at()): Promise<string> => (await call('POST', `${path}/messages`, { content })).body.id;
  const react = (id: string, emoji: string, method = 'PUT') => call(method, at(`/messages/${id}/reactions/${encodeURIComponent(emoji)}`));
  const countPending = async (id: string): Promise<number> => (await worker.db.messages.findOne({ _id: id }))?.outbox?.length ?? 0;
  const fillOutbox = async (id: string, count: number): Promise<void> => {
    const outbox = Array.from({ length: count }, () => ({ id: worker.ids.next(), name: 'PINS_UPDATE' }));
    await worker.db.messages.updateOne({ _id: id }, { $set: { outbox, outboxAt: new Date() } as never });
  };
  const updates = async (id: string): Promise<unknown[]> => {
    const logged = await entriesOf(worker.config, serverPlace(fixture.seeded.serverId));
    return logged.flatMap(({ name, data }) => (name === 'MESSAGE_UPDATE' && data.id === id ? [data.content] : []));
  };

  it('refuses changes of a message with 1,000 pending events with 503, but deletes it; accepts changes after the relay', async () => {
    const [full, other] = [await post(), await post()];
    expect((await react(full, '👍')).status).to.equal(204);
    expect((await call('PUT', at(`/pins/${other}`))).status).to.equal(204);
    await relayEvents(worker, 'channel', fixture.channelId);
    for (const id of [full, other]) await fillOutbox(id, limits.pendingEvents);
    const refusals = [
      () => react(full, '👎'),
      () => react(full, '👍', 'DELETE'),
      () => call('PATCH', at(`/messages/${full}`), { content: 'y' }),
      () => call('PUT', at(`/pins/${full}`)),
      () => call('DELETE', at(`/pins/${other}`)),
    ];
    for (const refusal of refusals) {
      const { status, body, headers } = await refusal();
      expect([status, body.code, headers.get('retry-after')]).to.deep.equal([503, 'unavailable', '5']);
    }
    const idle = [react(full, '👍'), react(full, '👎', 'DELETE'), call('PUT', at(`/pins/${other}`)), call('DELETE', at(`/pins/${full}`))];
    expect(tally(await Promise.all(idle))).to.deep.equal({ 204: 4 });
    expect(await countPending(full)).to.equal(limits.pendingEvents);
    expect((await call('DELETE', at(`/messages/${other}`))).status).to.equal(204);
    await relayEvents(worker, 'channel', fixture.channelId);
    expect((await react(full, '👎')).status).to.equal(204);
  });

  it('accepts two of 20 parallel reactions when the outbox has room for two', async () => {
    const id = await post();
    await fillOutbox(id, limits.pendingEvents - 2);
    expect(tally(await Promise.all(emojis.map((emoji) => react(id, emoji))))).to.deep.equal({ 204: 2, 503: 18 });
    expect(await countPending(id)).to.equal(limits.pendingEvents);
  });

  it('refuses an edit, a pin and an unpin with 503 if the outbox fills up between their read and their write', async () => {
    const { messages } = fixture.api.platform.db;
    const writes = [
      { query: 'findOneAndUpdate', run: (id: string) => call('PATCH', at(`/messages/${id}`), { content: 'y' }) },
      { query: 'updateOne', run: (id: string) => call('PUT', at(`/pins/${id}`)) },
      { query: 'updateOne', isPinned: true, run: (id: string) => call('DELETE', at(`/pins/${id}`)) },
    ];
    for (const { query, isPinned, run } of writes) {
      const id = await post();
      if (isPinned) await call('PUT', at(`/pins/${id}`));
      beforeNextQuery(messages, query, () => fillOutbox(id, limits.pendingEvents));
      expect([(await run(id)).status, await countPending(id)]).to.deep.equal([503, limits.pendingEvents]);
    }
  });

  it('sends one MESSAGE_UPDATE for several pending edits, and another for an edit during the relay', async () => {
    const id = await post();
    await relayEvents(worker, 'channel', fixture.channelId);
    for (const content of ['a', 'b', 'c']) await call('PATCH', at(`/messages/${id}`), { content });
    let late = false;
    const append: WorkerPlatform['eventLog']['append'] = async (place, events) => {
      const before = late;
      late = true;
      if (!before) await call('PATCH', at(`/messages/${id}`), { content: 'late' });
      return worker.eventLog.append(place, events);
    };
    await relayEvents(withLog(worker, { append }), 'channel', fixture.channelId);
    await relayEvents(worker, 'channel', fixture.channelId);
    expect(await updates(id)).to.deep.equal(['c', 'late']);
    expect(await countPending(id)).to.equal(0);
  });

  it('later changes keep the time of the first pending event', async () => {
    const id = await post();
    await relayEvents(worker, 'channel', fixture.channelId);
    const stored = async () => worker.db.messages.findOne({ _id: id });
    expect(await stored()).to.not.have.any.keys('outbox', 'outboxAt');
    const began = Date.now();
    await call('PATCH', at(`/messages/${id}`), { content: 'first' });
    expect((await stored())?.outboxAt?.getTime()).to.be.within(began, Date.now());
    const first = new Date(began - 5_000);
    await worker.db.messages.updateOne({ _id: id }, { $set: { outboxAt: first } });
    for (const write of [
      () => call('PATCH', at(`/messages/${id}`), { content: 'second' }),
      () => call('PUT', at(`/pins/${id}`)),
      () => call('DELETE', at(`/pins/${id}`)),
      () => react(id, '👍'),
      () => call('DELETE', at(`/messages/${id}`)),
    ]) {
      const before = await countPending(id);
      expect((await write()).status).to.be.within(200, 204);
      expect([await countPending(id), (await stored())?.outboxAt]).to.deep.equal([before + 1, first]);
    }
    expect(await listOverdueKeys(worker, 'channel')).to.include(fixture.channelId);
    await relayEvents(worker, 'channel', fixture.channelId);
    await sweepReactions(worker);
    expect(await stored()).to.equal(null);
  });

  it('several changes of a channel leave one pending CHANNEL_UPDATE', async () => {
    const { id } = await makeChannel(fixture.api, fixture.person, fixture.seeded.serverId);
    for (let n = 0; n < 10; n++) await call('PATCH', `/api/channels/${id}`, { name: `x${n}` });
    const outbox = (await worker.db.channels.findOne({ _id: id }))?.outbox ?? [];
    expect(outbox.map(({ name }) => name)).to.deep.equal(['CHANNEL_CREATE', 'CHANNEL_UPDATE']);
    await relayEvents(worker, 'server', fixture.seeded.serverId);
    expect(await worker.db.channels.findOne({ _id: id })).to.not.have.any.keys('outbox', 'outboxAt');
  });

  it('refuses an overwrite with 503 when the pending events of the channel take 1 MiB, and accepts it after the relay', async () => {
    const { id } = await makeChannel(fixture.api, fixture.person, fixture.seeded.serverId);
    const overwrites = Array.from({ length: 200 }, () => ({ id: worker.ids.next(), allow: 1024, deny: 2048 }));
    const outbox = Array.from({ length: 100 }, () => ({ id: worker.ids.next(), name: 'CHANNEL_UPDATE' as const, was: { overwrites } }));
    const overwrite = (deny: number) => call('PUT', `/api/channels/${id}/overwrites/${fixture.seeded.serverId}`, { allow: 0, deny });
    await worker.db.channels.updateOne({ _id: id }, { $set: { outbox: outbox.slice(0, 40), outboxAt: new Date() } });
    expect((await overwrite(1)).status).to.be.within(200, 204);
    await worker.db.channels.updateOne({ _id: id }, { $set: { outbox } });
    expect((await overwrite(0)).body.code).to.equal('unavailable');
    await relayEvents(worker, 'server', fixture.seeded.serverId);
    expect((await overwrite(0)).status).to.be.within(200, 204);
  });

  it('refuses ephemeral follow-ups with 503 when 50 events are pending, and accepts them after the relay', async () => {
    const id = await fixture.use();
    const hidden = { content: 'x', ephemeral: true };
    expect((await fixture.send('callback', id, { type: 'message', ...hidden })).status).to.equal(201);
    const waiting = (await fixture.stored(id)).outbox?.length ?? 0;
    const rest = Array.from({ length: limits.pendingAnswers - waiting }, () => fixture.send('followup', id, hidden));
    expect(tally(await Promise.all(rest))).to.deep.equal({ 201: limits.pendingAnswers - waiting });
    expect(tally(await inParallel(5, () => fixture.send('followup', id, hidden)))).to.deep.equal({ 503: 5 });
    expect((await fixture.send('followup', id, { content: 'for all' })).status).to.equal(201);
    await relayEvents(worker, 'interaction', id);
    expect((await fixture.send('followup', id, hidden)).status).to.equal(201);
  });

  it('a batch takes at most 1,000 events', async () => {
    await relayEvents(worker, 'channel', fixture.channelId);
    for (const id of [await post(), await post(), await post()]) await fillOutbox(id, 600);
    const sizes: number[] = [];
    const expireMarks = async (events: readonly unknown[]): Promise<void> => void sizes.push(events.length);
    await relayEvents(withLog(worker, { expireMarks }), 'channel', fixture.channelId);
    expect(sizes).to.deep.equal([601, 601, 601]); // with the MESSAGE_CREATE of each
  });

  it('many pending events of channels are relayed in batches of about 1,000 events', async () => {
    const { serverId } = fixture.seeded;
    const channels = await inParallel(8, () => makeChannel(fixture.api, fixture.person, serverId));
    await relayEvents(worker, 'server', serverId);
    const firstMs = Date.now() - channels.length;
    for (const [index, { id }] of channels.entries()) {
      const outbox = Array.from({ length: 400 }, (_, n) => ({ id: composeId(firstMs + index, 1, n), name: 'CHANNEL_UPDATE' as const }));
      await worker.db.channels.updateOne({ _id: id }, { $set: { outbox, outboxAt: new Date(firstMs + index) } });
    }
    let batches = 0;
    const acknowledge: typeof worker.eventLog.acknowledge = (...args) => {
      batches++;
      return worker.eventLog.acknowledge(...args);
    };
    await relayEvents(withLog(worker, { acknowledge }), 'server', serverId);
    expect(batches).to.equal(3); // a channel is taken whole: 1,200, 1,200 and 800 events
  });

  it('removes a tombstone after a relay that died before it', async () => {
    const id = await post();
    await call('DELETE', at(`/messages/${id}`));
    const messages = Object.create(worker.db.messages, { deleteMany: { value: () => Promise.reject(new Error('died')) } });
    const fault = await relayEvents({ ...worker, db: { ...worker.db, messages } }, 'channel', fixture.channelId).catch(
      (error: unknown) => error,
    );
    expect(fault).to.be.an('error').with.property('message', 'died');
    await relayEvents(worker, 'channel', fixture.channelId);
    expect(await worker.db.messages.countDocuments({ _id: id })).to.equal(0);
  });

  it('a thread whose recount fails does not delay others and is retried a minute later', async () => {
    const thread = async (): Promise<string> => (await makeThread(fixture.api, fixture.person, fixture.channelId)).id;
    const [bad, good] = [await thread(), await thread()];
    const mark = (id: string, recountAt: Date) => worker.db.channels.updateOne({ _id: id }, { $set: { recountAt, messageCount: 7 } });
    await mark(bad, new Date(1));
    await mark(good, new Date(2));
    interceptNext(worker.db.messages, 'countDocuments', () => Promise.reject(new Error('too long')));
    const fault = await recountThreads(worker).catch((error: unknown) => error);
    expect(fault).to.be.an('error').with.property('message', 'too long');
    const [late, counted] = [await worker.db.channels.findOne({ _id: bad }), await worker.db.channels.findOne({ _id: good })];
    expect(counted).to.include({ messageCount: 0 }).and.not.have.property('recountAt');
    expect((late?.recountAt?.getTime() ?? 0) - Date.now()).to.be.within(30_000, 60_000);
  });

  it('a channel with many pending events does not delay others in the sweep', async () => {
    await relayEvents(worker, 'channel', fixture.channelId);
    const { id: quiet } = await makeChannel(fixture.api, fixture.person, fixture.seeded.serverId);
    await relayEvents(worker, 'server', fixture.seeded.serverId);
    const last = await post('x', `/api/channels/${quiet}`);
    await sweepNewMessagesNow(worker);
    const stored = (await worker.db.messages.findOne({ _id: last })) as MessageDoc;
    const many = Array.from({ length: 2_500 }, (_, n): MessageDoc => {
      const outbox = [{ id: worker.ids.next(), name: 'PINS_UPDATE' as const }];
      return { ...stored, _id: worker.ids.next(), channelId: fixture.channelId, outbox, outboxAt: new Date(n) };
    });
    await insertMissing(worker.db.messages, many, performance.now() + 60_000);
    await worker.db.messages.updateOne({ _id: last }, { $set: { outboxAt: new Date(1_000) } });
    const appended: string[] = [];
    const append: WorkerPlatform['eventLog']['append'] = async (place, events, options) => {
      const found = await worker.eventLog.append(place, events, options);
      appended.push(...events.map(({ channelId }) => channelId ?? ''));
      return found;
    };
    await sweepOutbox(withLog(worker, { append }), 'channel');
    expect(appended).to.have.length(2_501);
    expect(appended.indexOf(quiet)).to.be.within(1, 2_000);
  });

  it('channels whose relay fails do not delay others in the sweep', async () => {
    const newChannel = async (): Promise<string> => (await makeChannel(fixture.api, fixture.person, fixture.seeded.serverId)).id;
    const channels = await inParallel(6, newChannel);
    const [good, ...bad] = channels;
    for (const id of channels) await post('x', `/api/channels/${id}`);
    await sweepNewMessagesNow(worker);
    await worker.db.messages.updateMany({ outboxAt: { $exists: true } }, { $set: { outboxAt: new Date(0) } });
    let markRelayed = (): void => undefined;
    const goodIsRelayed = new Promise<void>((resolve) => {
      markRelayed = resolve;
    });
    const append: WorkerPlatform['eventLog']['append'] = async (place, events) => {
      if (events.some(({ channelId: ch }) => bad.includes(ch ?? ''))) throw new Error('cannot be relayed');
      if (events.some(({ channelId: ch }) => ch === good)) markRelayed();
      return worker.eventLog.append(place, events);
    };
    const sweeps = startSweeps(withLog(worker, { append }), 50);
    await goodIsRelayed;
    await sweeps.close();
    expect(await worker.db.messages.countDocuments({ channelId: good as string, outboxAt: new Date(0) })).to.equal(0);
  });
});
