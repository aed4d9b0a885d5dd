import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { recountThreads } from '../../lib/domain/channels/thread-activity.ts';
import { overdueKeys, relay } from '../../lib/domain/events/relay.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { around } from '../harness/around.ts';
import { tally } from '../harness/factories.ts';
import { entriesOf } from '../harness/log.ts';
import { type Scene, startScene } from '../harness/scene.ts';

const emojis = ['😀', '😁', '😂', '😃', '😄', '😅', '😆', '😇', '😈', '😉', '😊', '😋', '😌', '😍', '😎', '😏', '😐', '😑', '😒', '😓'];

describe('what documents owe while no worker takes it', () => {
  let scene: Scene;
  let worker: WorkerPlatform;
  before(async () => {
    scene = await startScene();
    worker = scene.worker;
  });
  after(() => scene.close());

  const call = (method: string, path: string, body?: unknown) =>
    scene.api.call<{ id: string; code?: string }>(method, path, { as: scene.asPerson, body });
  const at = (path = ''): string => `/api/channels/${scene.channelId}${path}`;
  const post = async (content = 'x', path = at()): Promise<string> => (await call('POST', `${path}/messages`, { content })).body.id;
  const react = (id: string, emoji: string, method = 'PUT') => call(method, at(`/messages/${id}/reactions/${encodeURIComponent(emoji)}`));
  const owed = async (id: string): Promise<number> => (await worker.db.messages.findOne({ _id: id }).lean())?.ob?.length ?? 0;
  const owe = async (id: string, count: number): Promise<void> => {
    const ob = Array.from({ length: count }, () => ({ id: worker.ids.next(), name: 'PINS_UPDATE' }));
    await worker.db.messages.collection.updateOne({ _id: id as never }, { $set: { ob, obAt: new Date() } as never });
  };
  const updates = async (id: string): Promise<unknown[]> => {
    const logged = await entriesOf(worker.config, serverPlace(scene.world.serverId));
    return logged.flatMap(({ name, data }) => (name === 'MESSAGE_UPDATE' && data.id === id ? [data.content] : []));
  };

  it('a message that owes 1,000 events is changed no more, 503 unavailable, but deleted; once they are taken it is again', async () => {
    const [full, other] = [await post(), await post()];
    expect((await react(full, '👍')).status).to.equal(204);
    expect((await call('PUT', at(`/pins/${other}`))).status).to.equal(204);
    for (const id of [full, other]) await owe(id, limits.eventsOwed);
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
    expect(await owed(full)).to.equal(limits.eventsOwed);
    expect((await call('DELETE', at(`/messages/${other}`))).status).to.equal(204);
    await relay(worker, 'channel', scene.channelId);
    expect((await react(full, '👎')).status).to.equal(204);
  });

  it('of 20 reactions at once where two places are left, two are written', async () => {
    const id = await post();
    await owe(id, limits.eventsOwed - 2);
    expect(tally(await Promise.all(emojis.map((emoji) => react(id, emoji))))).to.deep.equal({ 204: 2, 503: 18 });
    expect(await owed(id)).to.equal(limits.eventsOwed);
  });

  it('edits that wait are told by one MESSAGE_UPDATE, as it shows the message as it is; one made meanwhile by its own', async () => {
    const id = await post();
    await relay(worker, 'channel', scene.channelId);
    for (const content of ['a', 'b', 'c']) await call('PATCH', at(`/messages/${id}`), { content });
    let late = false;
    const append: WorkerPlatform['append'] = async (place, events) => {
      const before = late;
      late = true;
      if (!before) await call('PATCH', at(`/messages/${id}`), { content: 'late' });
      return worker.append(place, events);
    };
    await relay({ ...worker, append }, 'channel', scene.channelId);
    await relay(worker, 'channel', scene.channelId);
    expect(await updates(id)).to.deep.equal(['c', 'late']);
    expect(await owed(id)).to.equal(0);
  });

  it('what is written to again and again is as old as the first event that it owes, for the sweep', async () => {
    const id = await post();
    await relay(worker, 'channel', scene.channelId);
    const stored = async () => worker.db.messages.findOne({ _id: id }).lean();
    expect(await stored()).to.not.have.any.keys('ob', 'obAt');
    const began = Date.now();
    await call('PATCH', at(`/messages/${id}`), { content: 'first' });
    expect((await stored())?.obAt?.getTime()).to.be.within(began, Date.now());
    const first = new Date(began - 5_000);
    await worker.db.messages.updateOne({ _id: id }, { $set: { obAt: first } });
    for (const write of [
      () => call('PATCH', at(`/messages/${id}`), { content: 'second' }),
      () => call('PUT', at(`/pins/${id}`)),
      () => call('DELETE', at(`/pins/${id}`)),
      () => react(id, '👍'),
      () => call('DELETE', at(`/messages/${id}`)),
    ]) {
      const before = await owed(id);
      expect((await write()).status).to.be.within(200, 204);
      expect([await owed(id), (await stored())?.obAt]).to.deep.equal([before + 1, first]);
    }
    expect(await overdueKeys(worker, 'channel')).to.include(scene.channelId);
    await relay(worker, 'channel', scene.channelId);
    expect(await stored()).to.equal(null);
  });

  it('a channel that is changed again and again owes one CHANNEL_UPDATE', async () => {
    const { body } = await call('POST', `/api/servers/${scene.world.serverId}/channels`, { name: 'x', kind: 'text' });
    for (let n = 0; n < 10; n++) await call('PATCH', `/api/channels/${body.id}`, { name: `x${n}` });
    const ob = (await worker.db.channels.findOne({ _id: body.id }).lean())?.ob ?? [];
    expect(ob.map(({ name }) => name)).to.deep.equal(['CHANNEL_CREATE', 'CHANNEL_UPDATE']);
    await relay(worker, 'server', scene.world.serverId);
    expect(await worker.db.channels.findOne({ _id: body.id }).lean()).to.not.have.any.keys('ob', 'obAt');
  });

  it('an interaction owes 50 events: the next hidden follow-up is 503 unavailable; once a worker took them it is sent', async () => {
    const id = await scene.use();
    const hidden = { content: 'x', ephemeral: true };
    expect((await scene.send('callback', id, { type: 'message', ...hidden })).status).to.equal(201);
    const waiting = (await scene.stored(id)).ob?.length ?? 0;
    const rest = Array.from({ length: limits.answersOwed - waiting }, () => scene.send('followup', id, hidden));
    expect(tally(await Promise.all(rest))).to.deep.equal({ 201: limits.answersOwed - waiting });
    expect(tally(await Promise.all(Array.from({ length: 5 }, () => scene.send('followup', id, hidden))))).to.deep.equal({ 503: 5 });
    expect((await scene.send('followup', id, { content: 'for all' })).status).to.equal(201);
    await relay(worker, 'interaction', id);
    expect((await scene.send('followup', id, hidden)).status).to.equal(201);
  });

  it('a batch takes 1,000 events, so that it ends before it is taken for paused', async () => {
    await relay(worker, 'channel', scene.channelId);
    for (const id of [await post(), await post(), await post()]) await owe(id, 600);
    const sizes: number[] = [];
    const keepMarks = async (_place: string, ids: readonly string[]): Promise<void> => void sizes.push(ids.length);
    await relay({ ...worker, keepMarks }, 'channel', scene.channelId);
    expect(sizes).to.deep.equal([600, 600, 600]);
  });

  it('a tombstone is removed also when the drain dies over it', async () => {
    const id = await post();
    await call('DELETE', at(`/messages/${id}`));
    const messages = Object.create(worker.db.messages, { deleteMany: { value: () => Promise.reject(new Error('died')) } });
    const fault = await relay({ ...worker, db: { ...worker.db, messages } }, 'channel', scene.channelId).catch((error: unknown) => error);
    expect(fault).to.be.an('error').with.property('message', 'died');
    await relay(worker, 'channel', scene.channelId);
    expect(await worker.db.messages.countDocuments({ _id: id })).to.equal(0);
  });

  it('a thread that cannot be counted holds up no other, and is counted again a minute later', async () => {
    const thread = async (): Promise<string> => (await call('POST', at('/threads'), { name: 'x' })).body.id;
    const [bad, good] = [await thread(), await thread()];
    const mark = (id: string, recountAt: Date) => worker.db.channels.updateOne({ _id: id }, { $set: { recountAt, messageCount: 7 } });
    await mark(bad, new Date(1));
    await mark(good, new Date(2));
    around(worker.db.messages, 'countDocuments', () => Promise.reject(new Error('too long')));
    const fault = await recountThreads(worker).catch((error: unknown) => error);
    expect(fault).to.be.an('error').with.property('message', 'too long');
    const [late, counted] = [await worker.db.channels.findById(bad).lean(), await worker.db.channels.findById(good).lean()];
    expect(counted).to.include({ messageCount: 0 }).and.not.have.property('recountAt');
    expect((late?.recountAt?.getTime() ?? 0) - Date.now()).to.be.within(30_000, 60_000);
  });

  it('channels that cannot be drained hold up no other in the sweep', async () => {
    const make = async (): Promise<string> =>
      (await call('POST', `/api/servers/${scene.world.serverId}/channels`, { name: 'x', kind: 'text' })).body.id;
    const channels = [await make(), await make(), await make(), await make(), await make(), await make()];
    const [good, ...bad] = channels;
    for (const id of channels) await post('x', `/api/channels/${id}`);
    await worker.db.messages.updateMany({}, { $set: { obAt: new Date(0) } });
    let drained = (): void => undefined;
    const goodIsDrained = new Promise<void>((resolve) => {
      drained = resolve;
    });
    const append: WorkerPlatform['append'] = async (place, events) => {
      if (events.some(({ channelId: ch }) => bad.includes(ch ?? ''))) throw new Error('cannot be told');
      if (events.some(({ channelId: ch }) => ch === good)) drained();
      return worker.append(place, events);
    };
    const sweeps = startSweeps({ ...worker, append }, 50);
    await goodIsDrained;
    await sweeps.close();
    expect(await worker.db.messages.countDocuments({ channelId: good as string, obAt: new Date(0) })).to.equal(0);
  });
});
