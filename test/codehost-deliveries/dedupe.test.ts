import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { type Hook, issue, range, type Scene, startDeliveries, titleOf } from './fixture.ts';

const zen = { zen: 'Keep it logically awesome.', hook_id: 1, repository: { full_name: 'o/r' } };

describe('a delivery that comes again', () => {
  let scene: Scene;
  let hook: Hook;
  before(async () => {
    scene = await startDeliveries();
  });
  after(() => scene.close());
  beforeEach(async () => {
    hook = await scene.make();
  });

  const statusOf = async (payload: unknown, sending: object = {}): Promise<number> => (await hook.deliver(payload, sending)).status;
  const age = (ms: number) =>
    scene.api.platform.db.deliveries.collection.updateMany({ webhookId: hook.id }, [{ $set: { at: { $subtract: ['$at', ms] } } }]);

  it('of 30 with one id at once one is accepted, and it posts once; the next is 204 while it waits and after', async () => {
    const statuses = await Promise.all(range(1, 30).map(() => statusOf(issue(1), { id: 'd-1' })));
    expect(statuses.filter((status) => status === 202)).to.have.length(1);
    expect(statuses.filter((status) => status === 204)).to.have.length(29);
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
    await hook.drainAll();
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal([titleOf(1)]);
    expect(await hook.stored()).to.have.length(1);
  });

  it('without an id, or with a longer one than is kept, each posts', async () => {
    const long = 'x'.repeat(limits.deliveryIdChars + 1);
    for (const id of [undefined, undefined, long, long]) expect(await statusOf(issue(1), id ? { id } : {})).to.equal(202);
    expect(await statusOf(issue(1), { id: long.slice(1) })).to.equal(202);
    expect(await statusOf(issue(1), { id: long.slice(1) })).to.equal(204);
  });

  it('the same id at another webhook is another delivery', async () => {
    const other = await scene.make();
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(202);
    expect((await other.deliver(issue(1), { id: 'd-1' })).status).to.equal(202);
  });

  it('after 24 hours it posts again, once, though it still is in the log', async () => {
    await statusOf(issue(1), { id: 'd-1' });
    await hook.drainAll();
    await age(limits.deliveryKeptMs - 5_000);
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
    await age(6_000);
    const statuses = await Promise.all(range(1, 10).map(() => statusOf(issue(1), { id: 'd-1' })));
    expect(statuses.filter((status) => status === 202)).to.have.length(1);
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal([titleOf(1), titleOf(1)]);
  });

  it('one that still waits after 24 hours does not post twice', async () => {
    await statusOf(issue(1), { id: 'd-1' });
    await age(limits.deliveryKeptMs + 5_000);
    expect(await statusOf(issue(1), { id: 'd-1' })).to.equal(204);
  });

  it('one that was ignored is ignored again, and fills the log once', async () => {
    for (let n = 0; n < 3; n++) expect(await statusOf({ action: 'labeled' }, { id: 'd-1' })).to.equal(204);
    expect(await hook.log()).to.have.length(1);
  });

  it('one that failed posts when it is sent again: once, in the order of its second arrival', async () => {
    const { deliveries, messages } = scene.api.platform.db;
    await statusOf(issue(1), { id: 'd-1' });
    const foreign = scene.api.platform.ids.next();
    const [first] = await hook.stored();
    await messages.collection.insertOne({ _id: foreign as never, createId: first?._id, channelId: 'elsewhere', authorId: 'someone' });
    await deliveries.updateOne({ webhookId: hook.id }, { $set: { tries: 4 } });
    await hook.drainAll();
    expect(await hook.log()).to.deep.include.members([{ ...(await hook.log())[0], outcome: 'failed' }]);
    await hook.deliverIssues(2, 2);
    const statuses = await Promise.all(range(1, 20).map(() => statusOf(issue(1), { id: 'd-1' })));
    expect(statuses.filter((status) => status === 202)).to.have.length(1);
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal([titleOf(2), titleOf(1)]);
    expect((await hook.log()).map(({ outcome }) => outcome)).to.deep.equal(['posted', 'posted', 'failed']);
  });

  describe('ping', () => {
    it('the connected notice is posted once, of 20 pings at once under ids of their own and of later ones', async () => {
      const statuses = await Promise.all(range(1, 20).map((n) => statusOf(zen, { event: 'ping', id: `d-${n}` })));
      expect(statuses.filter((status) => status === 202)).to.have.length(1);
      await hook.drainAll();
      expect(await statusOf(zen, { event: 'ping' })).to.equal(204);
      await hook.drainAll();
      expect(await hook.messages()).to.have.length(1);
      const log = await hook.log();
      expect(log.filter(({ outcome }) => outcome === 'posted')).to.have.length(1);
      expect(log.filter(({ outcome, reason }) => outcome === 'ignored' && /already connected/.test(reason ?? ''))).to.have.length(20);
    });

    it('also when the log has long forgotten the first one', async () => {
      await statusOf(zen, { event: 'ping' });
      await hook.drainAll();
      await age(3 * limits.deliveryKeptMs);
      for (let n = 0; n < limits.webhookDeliveriesListed + 5; n++) await statusOf({}, { event: 'watch' });
      await hook.drainAll();
      expect((await hook.log()).map(({ event }) => event)).not.to.include('ping');
      expect((await hook.stored())[0], 'it has no end')
        .to.include({ event: 'ping', connects: true })
        .and.not.to.have.any.keys('expiresAt', 'recent');
      expect(await statusOf(zen, { event: 'ping' })).to.equal(204);
    });

    it('another webhook has its own', async () => {
      const other = await scene.make();
      expect(await statusOf(zen, { event: 'ping' })).to.equal(202);
      expect((await other.deliver(zen, { event: 'ping' })).status).to.equal(202);
    });
  });
});
