import { expect } from 'chai';
import { mongo } from 'mongoose';
import { composeId } from '../../lib/base/ids.ts';
import { sweepDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import { interceptNext } from '../harness/intercept.ts';
import { issue, range, titleOf, useDeliveries } from './fixture.ts';

describe('post-deliveries', () => {
  const { fixture, hook } = useDeliveries();

  it('posts under the current name of the webhook with its tag, and keeps no payload', async () => {
    await hook.deliver(issue(1), { id: 'd-1' });
    const path = `/api/webhooks/${hook.id}`;
    await fixture.api.call('PATCH', path, { as: fixture.as, body: { name: 'Renamed' } });
    expect(await hook.runJob()).to.equal(null);
    const [message] = await hook.messages();
    expect(message?.face).to.deep.equal({ username: 'Renamed', displayName: 'Renamed', avatarUrl: null, tag: 'bot' });
    expect(message?.authorId).to.equal(hook.id);
    const [stored] = await hook.stored();
    expect(stored).to.include({ outcome: 'posted', reason: null, messageId: message?._id });
    expect(stored).not.to.have.property('facts');
  });

  it('uses at most 4 of the 5 slots in 5 s and then waits; the fifth is left to direct posts', async () => {
    await hook.deliverIssues(1, 6);
    const left = await hook.runJob();
    expect(left).to.be.within(1, 5_000);
    expect(await hook.titles()).to.deep.equal(range(1, 4).map(titleOf));
    // Sets the times of all four posts to now, however long they took.
    const posts = Array.from({ length: 4 }, () => '$$NOW');
    const { webhooks } = fixture.api.platform.db;
    await webhooks.updateOne({ _id: hook.id }, [{ $set: { posts, deliveryPosts: posts, drainAt: '$$NOW' } }]);
    expect(await hook.runJob()).to.be.within(1, 5_000);
    expect(await hook.titles()).to.have.length(4);
    const direct = (): Promise<number> =>
      fixture.api.call('POST', `/api/webhooks/${hook.id}/${hook.token}`, { body: { content: 'x' } }).then(({ status }) => status);
    expect([await direct(), await direct()]).to.deep.equal([201, 429]);
    await hook.runAllJobs();
    expect((await hook.titles()).filter((title) => title.startsWith('#'))).to.deep.equal(range(1, 6).map(titleOf));
  });

  it('posts each delivery once, in the order of arrival, when 20 jobs run at once', async () => {
    await hook.deliverIssues(1, 12);
    for (let round = 0; round < 4; round++) {
      await hook.freeSlots();
      await Promise.all(range(1, 20).map(() => hook.runJob()));
    }
    expect(await hook.titles()).to.deep.equal(range(1, 12).map(titleOf));
    expect(new Set(await hook.outcomes())).to.deep.equal(new Set(['posted']));
  });

  it('a second job waits while another has claimed the webhook, and takes over when the claim has expired', async () => {
    await hook.deliverIssues(1, 1);
    const { webhooks } = fixture.api.platform.db;
    await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() + 5_000) } });
    expect(await hook.runJob()).to.be.within(1, 1_000);
    expect(await hook.titles()).to.deep.equal([]);
    await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() - 1) } });
    expect(await hook.runJob()).to.equal(null);
    expect(await hook.titles()).to.deep.equal([titleOf(1)]);
  });

  // A process pauses at one of its steps, and goes on after another process has done the rest.
  for (const [step, target, method] of [
    ['before it fixes the id of a message', 'deliveries', 'updateOne'],
    ['before it stores the message', 'messages', 'insertOne'],
  ] as const)
    it(`posts each delivery once, in order, when a job was paused ${step} and another posted everything`, async () => {
      await hook.deliverIssues(1, 3);
      const { db } = fixture.worker;
      const paused = target === 'messages' ? db.messages : db.deliveries;
      interceptNext(paused, method, async (real) => {
        await hook.runAllJobs(); // claims the webhook while its holder is paused
        await hook.deliverIssues(4, 4);
        return real();
      });
      await hook.runJob();
      await hook.runAllJobs();
      expect(await hook.titles()).to.deep.equal(range(1, 4).map(titleOf));
      expect(new Set(await hook.outcomes())).to.deep.equal(new Set(['posted']));
    });

  it('does not post a message again that was stored but not marked, and uses no second slot', async () => {
    await hook.deliverIssues(1, 2);
    await hook.runJob();
    const [first] = await hook.stored();
    const { deliveries, webhooks } = fixture.api.platform.db;
    await deliveries.updateOne({ _id: first?._id ?? '' }, { $set: { outcome: 'waiting' } });
    await hook.freeSlots();
    expect(await hook.runJob()).to.equal(null);
    expect(await hook.titles()).to.deep.equal(range(1, 2).map(titleOf));
    expect((await webhooks.findOne({ _id: hook.id }))?.deliveryPosts).to.deep.equal([]);
  });

  it('marks a delivery that the database refuses as failed after 5 tries, with a reason, and posts the others', async () => {
    await hook.deliverIssues(1, 3);
    const refuseNext = () => interceptNext(fixture.worker.db.messages, 'insertOne', () => Promise.reject(new Error('refused')));
    for (let tries = 1; tries < 5; tries++) {
      refuseNext();
      const fault = await hook.runJob().catch((error: unknown) => error);
      expect(fault, `try ${tries}`).to.be.instanceOf(Error);
      expect(await hook.titles()).to.deep.equal([]);
    }
    refuseNext();
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal([titleOf(2), titleOf(3)]);
    const [, , failed] = await hook.log();
    expect(failed).to.include({ outcome: 'failed', reason: 'the message could not be stored in 5 tries' });
    expect((await hook.stored())[0]).not.to.have.any.keys('facts', 'deliveryId');
  });

  it('does not count a try while the database cannot be reached', async () => {
    await hook.deliverIssues(1, 1);
    for (let n = 0; n < 7; n++) {
      await hook.freeSlots();
      interceptNext(fixture.worker.db.messages, 'insertOne', () => Promise.reject(new mongo.MongoNetworkError('away')));
      expect(await hook.runJob().catch((error: unknown) => error)).to.be.instanceOf(mongo.MongoNetworkError);
    }
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal([titleOf(1)]);
  });

  it('message ids increase although the clocks of the processes differ', async () => {
    await hook.deliverIssues(1, 1);
    await hook.runJob();
    const { messages } = fixture.api.platform.db;
    const [first] = await hook.messages();
    const ahead = composeId(Date.now() + 3_600_000, 1_023, 5); // made by a process whose clock is ahead
    await messages.deleteOne({ _id: first?._id ?? '' });
    await messages.insertOne({ ...first, _id: ahead } as never);
    await hook.deliverIssues(2, 3);
    await hook.runJob();
    expect((await hook.messages())[0]?._id).to.equal(ahead);
    expect(await hook.titles()).to.deep.equal(range(1, 3).map(titleOf));
  });

  describe('the sweep', () => {
    it('posts what has waited for more than 2 s, and nothing newer', async () => {
      await hook.deliverIssues(1, 1);
      await sweepDeliveries(fixture.worker);
      expect(await hook.titles()).to.deep.equal([]);
      await hook.age(2_100);
      await sweepDeliveries(fixture.worker);
      expect(await hook.titles()).to.deep.equal([titleOf(1)]);
    });

    it('skips a webhook whose job runs or waits, and posts 2 s after that time has passed', async () => {
      await hook.deliverIssues(1, 1);
      await hook.age(60_000);
      const { webhooks } = fixture.api.platform.db;
      await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() - 1_000) } });
      await sweepDeliveries(fixture.worker);
      expect(await hook.titles()).to.deep.equal([]);
      await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() - 2_100) } });
      await sweepDeliveries(fixture.worker);
      expect(await hook.titles()).to.deep.equal([titleOf(1)]);
    });

    it('a webhook that fails does not delay the others', async () => {
      const hooks = [hook, await fixture.createHook(), await fixture.createHook()];
      for (const one of hooks) await one.deliverIssues(1, 1);
      const mine = { webhookId: { $in: hooks.map(({ id }) => id) } };
      await fixture.api.platform.db.deliveries.updateMany(mine, [{ $set: { at: { $subtract: ['$at', 5_000] } } }]);
      interceptNext(fixture.worker.db.messages, 'insertOne', () => Promise.reject(new Error('refused')));
      await sweepDeliveries(fixture.worker).catch(() => undefined);
      expect((await Promise.all(hooks.map((one) => one.titles()))).flat()).to.have.length(2);
    });

    it('reaches a webhook behind a page of deliveries of one that is paused', async () => {
      const other = await fixture.createHook();
      await other.deliverIssues(1, 1);
      await other.age(5_000);
      const { deliveries, webhooks } = fixture.api.platform.db;
      const paused = range(1, 1_001).map((n) => ({ _id: `paused-${n}`, webhookId: hook.id, outcome: 'waiting', at: new Date(n) }));
      await deliveries.insertMany(paused as never);
      await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() + 60_000) } });
      await sweepDeliveries(fixture.worker);
      await deliveries.deleteMany({ webhookId: hook.id });
      expect(await other.titles()).to.deep.equal([titleOf(1)]);
    });
  });
});
