import { expect } from 'chai';
import type { Message } from '../../../lib/contract/message.ts';
import type { MessageDoc } from '../../../lib/store/mongo/models/message.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { tally } from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';
import { makeWorld, type World } from '../../harness/world.ts';

describe('pins at once', () => {
  let api: TestApi;
  let world: World;
  let channelId: string;
  let as: string;
  before(async () => {
    api = await startTestApi();
    world = await makeWorld(api.platform, { bots: 0, channels: 8 });
    as = `Bearer ${world.ownerToken}`;
  });
  after(() => api.close());
  beforeEach(() => {
    channelId = world.channelIds.pop() as string;
  });

  const posts = (count: number): Promise<string[]> =>
    Promise.all(
      Array.from(
        { length: count },
        async () => (await api.call<Message>('POST', `/api/channels/${channelId}/messages`, { as, body: { content: 'x' } })).body.id,
      ),
    );
  const call = (method: 'PUT' | 'DELETE', id: string): Promise<Answer> => api.call(method, `/api/channels/${channelId}/pins/${id}`, { as });
  const remove = (id: string): Promise<Answer> => api.call('DELETE', `/api/channels/${channelId}/messages/${id}`, { as });
  const listed = async (): Promise<string[]> =>
    (await api.call<Message[]>('GET', `/api/channels/${channelId}/pins`, { as })).body.map((one) => one.id);
  const stored = async (): Promise<MessageDoc[]> =>
    (await api.platform.db.messages.collection
      .find({ channelId } as never)
      .sort({ _id: 1 })
      .toArray()) as unknown as MessageDoc[];
  const owed = ({ ob }: MessageDoc): number => ob?.filter((one) => one.name === 'PINS_UPDATE').length ?? 0;
  const audited = (action: string): Promise<number> => api.platform.db.audit.countDocuments({ action });

  it('60 pins: exactly 50, the others 400 too_many_pins; each tells once', async () => {
    const answers = await Promise.all((await posts(60)).map((id) => call('PUT', id)));
    expect(tally(answers)).to.deep.equal({ 204: 50, 400: 10 });
    expect(answers.filter(({ status }) => status === 400).every(({ body }) => body.code === 'too_many_pins')).to.equal(true);
    const pinned = (await stored()).filter((one) => one.pinnedAt);
    expect(new Set(pinned.map((one) => one.pinSlot))).to.deep.equal(new Set(Array.from({ length: 50 }, (_, slot) => slot)));
    expect((await stored()).map(owed).reduce((sum, one) => sum + one)).to.equal(50);
    expect(await audited('message_pin')).to.equal(50);
    expect(await listed()).to.have.members(pinned.map((one) => one._id));
  });

  it('20 pins of one message: pinned once, told once, one audit entry', async () => {
    const [id] = (await posts(1)) as [string];
    const before = await audited('message_pin');
    expect(tally(await Promise.all(Array.from({ length: 20 }, () => call('PUT', id))))).to.deep.equal({ 204: 20 });
    expect((await stored()).map(owed)).to.deep.equal([1]);
    expect(await audited('message_pin')).to.equal(before + 1);
  });

  it('20 unpins of one message: told once, one audit entry', async () => {
    const [id] = (await posts(1)) as [string];
    await call('PUT', id);
    expect(tally(await Promise.all(Array.from({ length: 20 }, () => call('DELETE', id))))).to.deep.equal({ 204: 20 });
    expect([(await stored()).map(owed), await listed(), await audited('message_unpin')]).to.deep.equal([[2], [], 1]);
  });

  it('40 pins at 49: exactly one more; what has no place owes nothing', async () => {
    const [first, ...others] = (await posts(41)) as [string, ...string[]];
    const [model] = (await stored()).filter((one) => one._id === first);
    const pinnedAt = new Date();
    const pinned = Array.from({ length: 48 }, (_, at) => ({ ...model, _id: api.platform.ids.next(), ob: [], pinSlot: at + 1, pinnedAt }));
    await api.platform.db.messages.collection.insertMany(pinned as never);
    await call('PUT', first);
    const answers = await Promise.all(others.map((id) => call('PUT', id)));
    expect(tally(answers)).to.deep.equal({ 204: 1, 400: 39 });
    expect((await stored()).filter((one) => one.pinnedAt)).to.have.length(50);
    expect((await stored()).filter((one) => !one.pinnedAt).map(owed)).to.deep.equal(Array.from({ length: 39 }, () => 0));
  });

  it('a storm of pins and unpins: each told change flips, and the last one is what stands', async () => {
    const all = await posts(12);
    const answers = await Promise.all(
      Array.from({ length: 144 }, (_, n) => call((n * 5) % 7 < 4 ? 'PUT' : 'DELETE', all[n % 12] as string)),
    );
    expect(tally(answers)).to.deep.equal({ 204: 144 });
    const after = await stored();
    for (const one of after) expect(owed(one) % 2 === 1, one._id).to.equal(one.pinnedAt !== undefined);
    for (const one of after) expect(one.pinSlot !== undefined, one._id).to.equal(one.pinnedAt !== undefined);
    expect(await listed()).to.have.members(after.filter((one) => one.pinnedAt).map((one) => one._id));
  });

  it('deletes meet pins: no grave keeps a place', async () => {
    const all = await posts(20);
    const answers = await Promise.all(all.flatMap((id) => [call('PUT', id), remove(id), call('PUT', id)]));
    expect(answers.every(({ status }) => status === 204 || status === 404)).to.equal(true);
    expect(await listed()).to.deep.equal([]);
    for (const one of await stored()) expect(one).to.not.have.any.keys('pinnedAt', 'pinSlot');
  });

  it('another takes the place between the look and the write: the pin takes another place', async () => {
    const [mine, theirs] = (await posts(2)) as [string, string];
    const { messages } = api.platform.db;
    const { random } = Math;
    Math.random = () => 0;
    try {
      meet(messages, 'updateOne', () =>
        messages.collection.updateOne({ _id: theirs as never }, { $set: { pinSlot: 0, pinnedAt: new Date() } }),
      );
      expect((await call('PUT', mine)).status).to.equal(204);
    } finally {
      Math.random = random;
    }
    const slots = new Map((await stored()).map((one) => [one._id, one.pinSlot]));
    expect([slots.get(mine), slots.get(theirs)]).to.deep.equal([1, 0]);
  });

  it('the message goes between the look and the write: 404, and the grave owes no pin', async () => {
    const [id] = (await posts(1)) as [string];
    meet(api.platform.db.messages, 'updateOne', () => remove(id));
    expect((await call('PUT', id)).status).to.equal(404);
    expect((await stored()).map((one) => [one.pinSlot, owed(one)])).to.deep.equal([[undefined, 0]]);
  });
});
