import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { interceptNext } from '../harness/intercept.ts';
import { issue, range, titleOf, useDeliveries } from './fixture.ts';

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
