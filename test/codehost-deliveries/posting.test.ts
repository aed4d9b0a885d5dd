import { expect } from 'chai';
import { mongo } from 'mongoose';
import { composeId } from '../../lib/base/ids.ts';
import { limits } from '../../lib/base/limits.ts';
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

const zen = { zen: 'Keep it logically awesome.', hook_id: 1, repository: { full_name: 'o/r' } };

describe('Code host deliveries: repeats', () => {
  const { fixture, hook } = useDeliveries();

  const statusOf = async (payload: unknown, sending: object = {}): Promise<number> => (await hook.deliver(payload, sending)).status;
  it('accepts one of 30 parallel deliveries with one id and posts it once; answers 204 to repeats before and after the post', async () => {
    const statuses = await Promise.all(range(1, 30).map(() => statusOf(issue(1), { id: 'd-1' })));
    expect(statuses.filter((status) => status === 202)).to.have.length(1);
    expect(statuses.filter((status) => status === 204)).to.have.length(29);
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
    await hook.runAllJobs();
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal([titleOf(1)]);
    expect(await hook.stored()).to.have.length(1);
  });

  it('posts every delivery without an id or with an id that is too long', async () => {
    const long = 'x'.repeat(limits.deliveryIdChars + 1);
    for (const id of [undefined, undefined, long, long]) expect(await statusOf(issue(1), id ? { id } : {})).to.equal(202);
    expect(await statusOf(issue(1), { id: long.slice(1) })).to.equal(202);
    expect(await statusOf(issue(1), { id: long.slice(1) })).to.equal(204);
  });

  it('accepts the same id at another webhook', async () => {
    const other = await fixture.createHook();
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(202);
    expect((await other.deliver(issue(1), { id: 'd-1' })).status).to.equal(202);
  });

  it('posts a repeat once after 24 hours, although the log still lists the first', async () => {
    await statusOf(issue(1), { id: 'd-1' });
    await hook.runAllJobs();
    await hook.age(limits.deliveryRetentionMs - 5_000);
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
    await hook.age(6_000);
    const statuses = await Promise.all(range(1, 10).map(() => statusOf(issue(1), { id: 'd-1' })));
    expect(statuses.filter((status) => status === 202)).to.have.length(1);
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal([titleOf(1), titleOf(1)]);
  });

  it('does not post a repeat after 24 hours while the first still waits', async () => {
    await statusOf(issue(1), { id: 'd-1' });
    await hook.age(limits.deliveryRetentionMs + 5_000);
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
  });

  it('ignores a repeat of an ignored delivery and logs it once', async () => {
    for (let n = 0; n < 3; n++) expect(await statusOf({ action: 'labeled' }, { id: 'd-1' })).to.equal(204);
    expect(await hook.log()).to.have.length(1);
  });

  it('posts a failed delivery once when it is sent again, in the order of its second arrival', async () => {
    const { deliveries } = fixture.api.platform.db;
    await statusOf(issue(1), { id: 'd-1' });
    interceptNext(fixture.worker.db.messages, 'insertOne', () => Promise.reject(new Error('refused')));
    await deliveries.updateOne({ webhookId: hook.id }, { $set: { tries: 4 } });
    await hook.runAllJobs();
    expect(await hook.log()).to.deep.include.members([{ ...(await hook.log())[0], outcome: 'failed' }]);
    await hook.deliverIssues(2, 2);
    const statuses = await Promise.all(range(1, 20).map(() => statusOf(issue(1), { id: 'd-1' })));
    expect(statuses.filter((status) => status === 202)).to.have.length(1);
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal([titleOf(2), titleOf(1)]);
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['posted', 'posted', 'failed']);
  });

  describe('ping', () => {
    it('posts the connected notice once, for 20 parallel pings with different ids and for later ones', async () => {
      const statuses = await Promise.all(range(1, 20).map((n) => statusOf(zen, { event: 'ping', id: `d-${n}` })));
      expect(statuses.filter((status) => status === 202)).to.have.length(1);
      await hook.runAllJobs();
      expect(await statusOf(zen, { event: 'ping' })).to.equal(204);
      await hook.runAllJobs();
      expect(await hook.messages()).to.have.length(1);
      const log = await hook.log();
      expect(log.filter(({ outcome }) => outcome === 'posted')).to.have.length(1);
      expect(log.filter(({ outcome, reason }) => outcome === 'ignored' && /already connected/.test(reason ?? ''))).to.have.length(20);
    });

    it('posts no second notice after the log no longer lists the first ping', async () => {
      await statusOf(zen, { event: 'ping' });
      await hook.runAllJobs();
      await hook.age(3 * limits.deliveryRetentionMs);
      for (let n = 0; n < limits.webhookDeliveriesListed + 5; n++) await statusOf({}, { event: 'watch' });
      await hook.runAllJobs();
      expect((await hook.log()).map(({ event }) => event)).not.to.include('ping');
      expect((await hook.stored())[0], 'it does not expire')
        .to.include({ event: 'ping', connects: true })
        .and.not.to.have.any.keys('expiresAt', 'recent');
      expect(await statusOf(zen, { event: 'ping' })).to.equal(204);
    });

    it('posts a notice for each webhook', async () => {
      const other = await fixture.createHook();
      expect(await statusOf(zen, { event: 'ping' })).to.equal(202);
      expect((await other.deliver(zen, { event: 'ping' })).status).to.equal(202);
    });
  });
});
