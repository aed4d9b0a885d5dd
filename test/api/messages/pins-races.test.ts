import { expect } from 'chai';
import type { AuditAction } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { MessageDoc } from '../../../lib/store/mongo/models/message.ts';
import type { Answer } from '../../harness/api.ts';
import { makeChannel } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { inParallel, send, tally } from '../../harness/requests.ts';
import { make, useServer } from '../../harness/use.ts';
import { messageCalls } from './message-fixture.ts';

describe('parallel changes of pins', () => {
  const { api, owner, server } = useServer();
  const channel = make(() => makeChannel(api, owner, server.id), { each: true });
  const messages = messageCalls(api, channel, owner);

  const posts = async (count: number): Promise<string[]> => (await inParallel(count, () => messages.post('x'))).map(({ id }) => id);
  const postOne = async (): Promise<string> => (await messages.post('x')).id;
  const call = (method: 'PUT' | 'DELETE', id: string): Promise<Answer> =>
    api.call(method, `/api/channels/${channel.id}/pins/${id}`, { as: owner.as });
  const remove = (id: string): Promise<Answer> => api.call('DELETE', messages.path(id), { as: owner.as });
  const listed = async (): Promise<string[]> =>
    (await send<Message[]>(api, 200, owner, 'GET', `/api/channels/${channel.id}/pins`)).map(({ id }) => id);
  const stored = async (): Promise<MessageDoc[]> =>
    await api.platform.db.messages.find({ channelId: channel.id }).sort({ _id: 1 }).toArray();
  const countUpdates = ({ outbox }: MessageDoc): number => outbox?.filter(({ name }) => name === 'PINS_UPDATE').length ?? 0;
  const countAudit = (action: AuditAction): Promise<number> => api.platform.db.audit.countDocuments({ action });

  it('of 60 pins, 50 succeed with one event each, and 10 are refused with 400 too_many_pins', async () => {
    const answers = await Promise.all((await posts(60)).map((id) => call('PUT', id)));
    expect(tally(answers)).to.deep.equal({ 204: 50, 400: 10 });
    expect(answers.filter(({ status }) => status === 400).every(({ body }) => body.code === 'too_many_pins')).to.equal(true);
    const pinned = (await stored()).filter((one) => one.pinnedAt);
    expect(new Set(pinned.map((one) => one.pinSlot))).to.deep.equal(new Set(Array.from({ length: 50 }, (_, slot) => slot)));
    expect((await stored()).map(countUpdates).reduce((sum, one) => sum + one)).to.equal(50);
    expect(await countAudit('message_pin')).to.equal(50);
    expect(await listed()).to.have.members(pinned.map((one) => one._id));
  });

  it('20 pins of one message add one event and one audit entry', async () => {
    const id = await postOne();
    const before = await countAudit('message_pin');
    expect(tally(await inParallel(20, () => call('PUT', id)))).to.deep.equal({ 204: 20 });
    expect((await stored()).map(countUpdates)).to.deep.equal([1]);
    expect(await countAudit('message_pin')).to.equal(before + 1);
  });

  it('20 unpins of one message add one event and one audit entry', async () => {
    const id = await postOne();
    await call('PUT', id);
    expect(tally(await inParallel(20, () => call('DELETE', id)))).to.deep.equal({ 204: 20 });
    expect([(await stored()).map(countUpdates), await listed(), await countAudit('message_unpin')]).to.deep.equal([[2], [], 1]);
  });

  it('of 40 pins after 49, one succeeds; the others add no event', async () => {
    const [first, ...others] = (await posts(41)) as [string, ...string[]];
    const [model] = (await stored()).filter((one) => one._id === first);
    const pinnedAt = new Date();
    const pinned = Array.from({ length: 48 }, (_, at) => ({
      ...model,
      _id: api.platform.ids.next(),
      outbox: [],
      pinSlot: at + 1,
      pinnedAt,
    }));
    await api.platform.db.messages.insertMany(pinned as never);
    await call('PUT', first);
    const answers = await Promise.all(others.map((id) => call('PUT', id)));
    expect(tally(answers)).to.deep.equal({ 204: 1, 400: 39 });
    expect((await stored()).filter((one) => one.pinnedAt)).to.have.length(50);
    expect((await stored()).filter((one) => !one.pinnedAt).map(countUpdates)).to.deep.equal(Array.from({ length: 39 }, () => 0));
  });

  it('after 144 pins and unpins, the number of events of a message agrees with its pin', async () => {
    const all = await posts(12);
    const answers = await inParallel(144, (n) => call((n * 5) % 7 < 4 ? 'PUT' : 'DELETE', all[n % 12] as string));
    expect(tally(answers)).to.deep.equal({ 204: 144 });
    const after = await stored();
    for (const one of after) expect(countUpdates(one) % 2 === 1, one._id).to.equal(one.pinnedAt !== undefined);
    for (const one of after) expect(one.pinSlot !== undefined, one._id).to.equal(one.pinnedAt !== undefined);
    expect(await listed()).to.have.members(after.filter((one) => one.pinnedAt).map((one) => one._id));
  });

  it('after parallel deletes and pins, no tombstone is pinned', async () => {
    const all = await posts(20);
    const answers = await Promise.all(all.flatMap((id) => [call('PUT', id), remove(id), call('PUT', id)]));
    expect(answers.every(({ status }) => status === 204 || status === 404)).to.equal(true);
    expect(await listed()).to.deep.equal([]);
    for (const one of await stored()) expect(one).to.not.have.any.keys('pinnedAt', 'pinSlot');
  });

  it('a pin takes another slot if its slot is taken between its read and its write', async () => {
    const [mine, theirs] = (await posts(2)) as [string, string];
    const { messages: collection } = api.platform.db;
    const { random } = Math;
    Math.random = () => 0;
    try {
      beforeNextQuery(collection, 'updateOne', () => collection.updateOne({ _id: theirs }, { $set: { pinSlot: 0, pinnedAt: new Date() } }));
      expect((await call('PUT', mine)).status).to.equal(204);
    } finally {
      Math.random = random;
    }
    const slots = new Map((await stored()).map((one) => [one._id, one.pinSlot]));
    expect([slots.get(mine), slots.get(theirs)]).to.deep.equal([1, 0]);
  });

  it('404 if the message is deleted between the read and the write of a pin; the tombstone has no event for it', async () => {
    const id = await postOne();
    beforeNextQuery(api.platform.db.messages, 'updateOne', () => remove(id));
    expect((await call('PUT', id)).status).to.equal(404);
    expect((await stored()).map((one) => [one.pinSlot, countUpdates(one)])).to.deep.equal([[undefined, 0]]);
  });
});
