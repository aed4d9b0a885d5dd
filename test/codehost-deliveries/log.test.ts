import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { expireDeliveries, trimDeliveries } from '../../lib/domain/webhooks/delivery-log.ts';
import { sweepDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import { interceptNext } from '../harness/intercept.ts';
import { issue, range, useDeliveries } from './fixture.ts';

const listed = limits.webhookDeliveriesListed;

describe('GET /api/webhooks/{webhookId}/deliveries', () => {
  const { fixture, hook } = useDeliveries();

  /** Makes `count` ignored deliveries: sends the last and stores the others directly. */
  const addIgnored = async (count: number, event = 'watch'): Promise<void> => {
    const { ids, db } = fixture.api.platform;
    const doc = { webhookId: hook.id, event, action: null, outcome: 'ignored', reason: 'x', at: new Date(), recent: true };
    const docs = range(2, count).map(() => ({ ...doc, _id: ids.next() }));
    if (docs.length) await db.deliveries.insertMany(docs as never);
    expect((await hook.deliver({}, { event })).status).to.equal(204);
  };
  it('lists deliveries, newest first, with exactly id, time, event, action, outcome and reason', async () => {
    const began = Date.now();
    await hook.deliverIssues(1, 1);
    await hook.runJob();
    await hook.deliver({ action: 'labeled', issue: {} });
    const [ignored, posted] = await hook.log();
    expect(Object.keys(posted ?? {})).to.have.members(['id', 'at', 'event', 'action', 'outcome', 'reason']);
    expect(posted).to.include({ event: 'issues', action: 'opened', outcome: 'posted', reason: null });
    expect(ignored).to.include({ event: 'issues', action: 'labeled', outcome: 'ignored' });
    expect(ignored?.reason)
      .to.be.a('string')
      .and.match(/labeled/);
    expect(Date.parse(posted?.at ?? '')).to.be.within(began - 1_000, Date.now() + 1_000);
    expect((ignored?.id ?? '') > (posted?.id ?? '')).to.equal(true);
  });

  it('lists a waiting delivery only after it was posted', async () => {
    await addIgnored(1);
    await hook.deliverIssues(1, 1);
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['ignored']);
    await hook.runJob();
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['posted', 'ignored']);
  });

  it('lists the last 50, and stores no more ignored ones', async () => {
    await addIgnored(listed - 1);
    await addIgnored(1, 'fork_x');
    await addIgnored(10);
    const log = await hook.log();
    expect(log).to.have.length(listed);
    expect(log[10]?.event).to.equal('fork_x');
    await hook.runJob();
    expect(await hook.log()).to.deep.equal(log);
    expect(await hook.stored()).to.have.length(listed);
  });

  it('keeps a posted delivery that the log no longer lists for 24 hours, to recognize a repeat, then lets it expire', async () => {
    await hook.deliver(issue(1), { id: 'd-1' });
    await hook.runJob();
    await hook.age(60_000);
    await addIgnored(listed);
    await hook.runJob();
    const [first, ...rest] = await hook.stored();
    expect(rest).to.have.length(listed);
    expect(first?.expiresAt?.getTime()).to.equal((first?.at.getTime() ?? 0) + limits.deliveryRetentionMs);
    expect(first).not.to.have.property('recent');
    expect((await hook.deliver(issue(1), { id: 'd-1' })).status).to.equal(204);
    for (const one of rest) expect(one).not.to.have.property('expiresAt');
  });

  it('keeps what the log lists, however old it is', async () => {
    await hook.deliverIssues(1, 1);
    await hook.runJob();
    await hook.age(30 * limits.deliveryRetentionMs);
    await addIgnored(listed - 1);
    await hook.runJob();
    const last = (await hook.stored())[0];
    expect(last).to.include({ outcome: 'posted', recent: true }).and.not.to.have.property('expiresAt');
  });

  it('DELIVERY_RETENTION_DAYS lets what the log lists expire, except the connected notice and what waits', async () => {
    await hook.deliver({}, { event: 'ping' });
    await hook.deliverIssues(1, 1);
    await hook.runJob();
    await hook.deliverIssues(2, 2);
    const { worker } = fixture;
    const config = { ...worker.config, DELIVERY_RETENTION_DAYS: 7 };
    for (let times = 0; times < 2; times++) await trimDeliveries({ ...worker, config }, hook.id, () => true);
    const dates = (await hook.stored()).map(({ at, expiresAt }) => expiresAt && expiresAt.getTime() - at.getTime());
    expect(dates).to.deep.equal([undefined, 7 * 24 * 60 * 60_000, undefined]);
  });

  describe('removal', () => {
    const countLeft = async (): Promise<number> =>
      (await hook.stored()).filter(({ expiresAt }) => !expiresAt || expiresAt > new Date()).length;
    const fillLog = async (): Promise<void> => {
      await hook.deliver({ zen: 'x', repository: { full_name: 'o/r' } }, { event: 'ping' });
      await hook.runAllJobs();
      await hook.age(60_000);
      await addIgnored(listed + 5);
      await hook.deliverIssues(1, 6);
      await hook.freeSlots();
      await hook.runJob();
      expect(await countLeft()).to.be.greaterThan(listed);
    };

    it('a deleted webhook posts nothing more, and its deliveries are removed, including one that arrives meanwhile', async () => {
      await fillLog();
      const posted = (await hook.messages()).length;
      expect((await fixture.api.call('DELETE', `/api/webhooks/${hook.id}`, { as: fixture.as })).status).to.equal(204);
      expect((await hook.deliver(issue(7))).status).to.equal(404);
      const { deliveries } = fixture.api.platform.db;
      const late = { ...(await hook.stored()).at(-1), _id: fixture.api.platform.ids.next() };
      await deliveries.insertOne(late as never);
      await hook.freeSlots();
      expect(await hook.runJob()).to.equal(null);
      expect(await countLeft()).to.equal(0);
      expect(await hook.messages()).to.have.length(posted);
    });

    it('the sweep removes waiting deliveries when the process died during the removal; the log expires', async () => {
      await fillLog();

      await expireDeliveries(fixture.worker, hook.id);
      expect(await countLeft(), 'only the waiting ones are left').to.equal(2);
      await fixture.api.platform.db.webhooks.deleteOne({ _id: hook.id });
      await hook.age(60_000);

      await sweepDeliveries(fixture.worker);
      expect(await countLeft()).to.equal(0);
    });

    it('deleting a channel removes the deliveries of its webhooks', async () => {
      await fillLog();
      expect((await fixture.api.call('DELETE', `/api/channels/${hook.channelId}`, { as: fixture.as })).status).to.equal(204);

      await finishRemoval(fixture.worker, hook.channelId);
      expect(await countLeft()).to.equal(0);
      expect(await fixture.api.platform.db.webhooks.countDocuments({ _id: hook.id })).to.equal(0);
    });

    it('a webhook deleted while its job posts stops posting', async () => {
      await hook.deliverIssues(1, 3);

      interceptNext(fixture.worker.db.messages, 'insertOne', async (real) => {
        await fixture.api.call('DELETE', `/api/webhooks/${hook.id}`, { as: fixture.as });
        return real();
      });
      expect(await hook.runJob()).to.equal(null);
      expect((await hook.messages()).filter(({ deleted }) => !deleted)).to.deep.equal([]);
      expect(await countLeft()).to.equal(0);
    });
  });

  it('lists only recent deliveries, newest first, however many others are stored', async () => {
    const { deliveries } = fixture.api.platform.db;
    const base = { webhookId: hook.id, event: 'push', action: null, reason: null, at: new Date() };
    const docs = range(1, 300).map(() => ({ ...base, _id: fixture.api.platform.ids.next(), outcome: 'posted' }));
    await deliveries.insertMany(docs as never);
    await addIgnored(2);
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['ignored', 'ignored']);
  });
});
