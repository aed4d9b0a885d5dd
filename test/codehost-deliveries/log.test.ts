import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import { expireDeliveries } from '../../lib/domain/webhooks/delivery-log.ts';
import { sweepDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import { around } from '../harness/around.ts';
import { type Hook, issue, range, type Scene, startDeliveries } from './fixture.ts';

const listed = limits.webhookDeliveriesListed;

describe('GET /api/webhooks/{id}/deliveries', () => {
  let scene: Scene;
  let hook: Hook;
  before(async () => {
    scene = await startDeliveries();
  });
  after(() => scene.close());
  beforeEach(async () => {
    hook = await scene.make();
  });

  /** So many ignored deliveries: the last of them sent, those before stored as if they had been. */
  const ignore = async (count: number, event = 'watch'): Promise<void> => {
    const { ids, db } = scene.api.platform;
    const doc = { webhookId: hook.id, event, action: null, outcome: 'ignored', reason: 'x', at: new Date(), recent: true };
    const docs = range(2, count).map(() => ({ ...doc, _id: ids.next() }));
    if (docs.length) await db.deliveries.collection.insertMany(docs as never);
    expect((await hook.deliver({}, { event })).status).to.equal(204);
  };
  const age = (ms: number) =>
    scene.api.platform.db.deliveries.collection.updateMany({ webhookId: hook.id }, [{ $set: { at: { $subtract: ['$at', ms] } } }]);

  it('is empty at first', async () => expect(await hook.log()).to.deep.equal([]));

  it('shows what came, newest first: event, action, outcome, reason, and when it arrived; nothing else', async () => {
    const began = Date.now();
    await hook.deliverIssues(1, 1);
    await hook.drain();
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

  it('one that waits is not there until it is posted', async () => {
    await ignore(1);
    await hook.deliverIssues(1, 1);
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['ignored']);
    await hook.drain();
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['posted', 'ignored']);
  });

  it('holds the last 50 and ends there; of ignored ones no more are stored', async () => {
    await ignore(listed - 1);
    await ignore(1, 'fork_x');
    await ignore(10);
    const log = await hook.log();
    expect(log).to.have.length(listed);
    expect(log[10]?.event).to.equal('fork_x');
    await hook.drain();
    expect(await hook.log()).to.deep.equal(log);
    expect(await hook.stored()).to.have.length(listed);
  });

  it('a posted one that the log shows no more is kept until it is 24 hours old, so that it posts once; then it goes by itself', async () => {
    await hook.deliver(issue(1), { id: 'd-1' });
    await hook.drain();
    await age(60_000);
    await ignore(listed);
    await hook.drain();
    const [first, ...rest] = await hook.stored();
    expect(rest).to.have.length(listed);
    expect(first?.expiresAt?.getTime()).to.equal((first?.at.getTime() ?? 0) + limits.deliveryKeptMs);
    expect(first).not.to.have.property('recent');
    expect((await hook.deliver(issue(1), { id: 'd-1' })).status).to.equal(204);
    for (const one of rest) expect(one).not.to.have.property('expiresAt');
  });

  it('what the log shows stays, however old it is', async () => {
    await hook.deliverIssues(1, 1);
    await hook.drain();
    await age(30 * limits.deliveryKeptMs);
    await ignore(listed - 1);
    await hook.drain();
    const last = (await hook.stored())[0];
    expect(last).to.include({ outcome: 'posted', recent: true }).and.not.to.have.property('expiresAt');
  });

  describe('what is gone', () => {
    const left = async (): Promise<number> => (await hook.stored()).filter(({ expiresAt }) => !expiresAt || expiresAt > new Date()).length;
    const fill = async (): Promise<void> => {
      await hook.deliver({ zen: 'x', repository: { full_name: 'o/r' } }, { event: 'ping' });
      await hook.drainAll();
      await age(60_000);
      await ignore(listed + 5);
      await hook.deliverIssues(1, 6);
      await hook.rest();
      await hook.drain();
      expect(await left()).to.be.greaterThan(listed);
    };

    it('a deleted webhook posts nothing more and takes its deliveries along, also one that comes at that moment', async () => {
      await fill();
      const posted = (await hook.messages()).length;
      expect((await scene.api.call('DELETE', `/api/webhooks/${hook.id}`, { as: scene.as })).status).to.equal(204);
      expect((await hook.deliver(issue(7))).status).to.equal(404);
      const { deliveries } = scene.api.platform.db;
      const late = { ...(await hook.stored()).at(-1), _id: scene.api.platform.ids.next() };
      await deliveries.collection.insertOne(late as never);
      await hook.rest();
      expect(await hook.drain()).to.equal(null);
      expect(await left()).to.equal(0);
      expect(await hook.messages()).to.have.length(posted);
    });

    it('when the process dies between both, what waits is found by the sweep and the log ends by itself', async () => {
      await fill();

      await expireDeliveries(scene.worker, hook.id);
      expect(await left(), 'only what waits').to.equal(2);
      await scene.api.platform.db.webhooks.deleteOne({ _id: hook.id });
      await age(60_000);

      await sweepDeliveries(scene.worker);
      expect(await left()).to.equal(0);
    });

    it('a deleted channel takes its webhooks’ deliveries along', async () => {
      await fill();
      expect((await scene.api.call('DELETE', `/api/channels/${hook.channelId}`, { as: scene.as })).status).to.equal(204);

      await finishRemoval(scene.worker, hook.channelId);
      expect(await left()).to.equal(0);
      expect(await scene.api.platform.db.webhooks.countDocuments({ _id: hook.id })).to.equal(0);
    });

    it('a webhook that is deleted while its drain posts stops there', async () => {
      await hook.deliverIssues(1, 3);

      around(scene.worker.db.messages.collection, 'insertOne', async (real) => {
        await scene.api.call('DELETE', `/api/webhooks/${hook.id}`, { as: scene.as });
        return real();
      });
      expect(await hook.drain()).to.equal(null);
      expect((await hook.messages()).filter(({ deleted }) => !deleted)).to.deep.equal([]);
      expect(await left()).to.equal(0);
    });
  });

  it('the log of 50 is read in its order from its own index, however much waits or is kept', async () => {
    const { deliveries } = scene.api.platform.db;
    const base = { webhookId: hook.id, event: 'push', action: null, reason: null, at: new Date() };
    const docs = range(1, 300).map(() => ({ ...base, _id: scene.api.platform.ids.next(), outcome: 'posted' }));
    await deliveries.collection.insertMany(docs as never);
    await ignore(2);
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['ignored', 'ignored']);
  });
});
