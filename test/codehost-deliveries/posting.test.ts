import { expect } from 'chai';
import { idOf } from '../../lib/base/ids.ts';
import { sweepDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import { around } from '../harness/around.ts';
import { type Hook, issue, range, type Scene, startDeliveries, titleOf } from './fixture.ts';

describe('post-deliveries', () => {
  let scene: Scene;
  let hook: Hook;
  before(async () => {
    scene = await startDeliveries();
  });
  after(() => scene.close());
  beforeEach(async () => {
    hook = await scene.make();
  });

  const outcomes = async (): Promise<string[]> => (await hook.stored()).map(({ outcome }) => outcome);

  it('posts under the webhook’s name of that moment, with its tag and without the payload left anywhere', async () => {
    await hook.deliver(issue(1), { id: 'd-1' });
    const path = `/api/webhooks/${hook.id}`;
    await scene.api.call('PATCH', path, { as: scene.as, body: { name: 'Renamed' } });
    expect(await hook.drain()).to.equal(null);
    const [message] = await hook.messages();
    expect(message?.face).to.deep.equal({ username: 'Renamed', displayName: 'Renamed', avatarUrl: null, tag: 'bot' });
    expect(message?.authorId).to.equal(hook.id);
    const [stored] = await hook.stored();
    expect(stored).to.include({ outcome: 'posted', reason: null, messageId: message?._id });
    expect(stored).not.to.have.property('facts');
  });

  it('takes at most 4 places of the 5 in 5 s, then rests until there is one; direct posts keep the fifth', async () => {
    await hook.deliverIssues(1, 6);
    const left = await hook.drain();
    expect(left).to.be.within(1, 5_000);
    expect(await hook.titles()).to.deep.equal(range(1, 4).map(titleOf));
    // As if all four were of this moment, however long they took.
    const posts = Array.from({ length: 4 }, () => '$$NOW');
    const { webhooks } = scene.api.platform.db;
    await webhooks.collection.updateOne({ _id: hook.id as never }, [{ $set: { posts, deliveryPosts: posts, drainAt: '$$NOW' } }]);
    expect(await hook.drain()).to.be.within(1, 5_000);
    expect(await hook.titles()).to.have.length(4);
    const direct = (): Promise<number> =>
      scene.api.call('POST', `/api/webhooks/${hook.id}/${hook.token}`, { body: { content: 'x' } }).then(({ status }) => status);
    expect([await direct(), await direct()]).to.deep.equal([201, 429]);
    await hook.drainAll();
    expect((await hook.titles()).filter((title) => title.startsWith('#'))).to.deep.equal(range(1, 6).map(titleOf));
  });

  it('20 drains at once, and more after: each is posted once, in the order of arrival', async () => {
    await hook.deliverIssues(1, 12);
    for (let round = 0; round < 4; round++) {
      await hook.rest();
      await Promise.all(range(1, 20).map(() => hook.drain()));
    }
    expect(await hook.titles()).to.deep.equal(range(1, 12).map(titleOf));
    expect(new Set(await outcomes())).to.deep.equal(new Set(['posted']));
  });

  it('while one holds the webhook another does nothing and comes again; one that died is followed after its time', async () => {
    await hook.deliverIssues(1, 1);
    const { webhooks } = scene.api.platform.db;
    await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() + 5_000) } });
    expect(await hook.drain()).to.be.within(1, 1_000);
    expect(await hook.titles()).to.deep.equal([]);
    await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() - 1) } });
    expect(await hook.drain()).to.equal(null);
    expect(await hook.titles()).to.deep.equal([titleOf(1)]);
  });

  // What a paused process does when it goes on: at each of its steps another has done the rest meanwhile.
  for (const [step, target, method] of [
    ['before it fixes the id of a message', 'deliveries', 'updateOne'],
    ['before it stores the message', 'messages', 'insertOne'],
  ] as const)
    it(`paused ${step}, while another posts it all: nothing is doubled or swapped`, async () => {
      await hook.deliverIssues(1, 3);
      const { db } = scene.worker;
      const paused = target === 'messages' ? db.messages.collection : db.deliveries;
      around(paused, method, async (real) => {
        await hook.drainAll(); // takes the webhook, whose holder is paused
        await hook.deliverIssues(4, 4);
        return real();
      });
      await hook.drain();
      await hook.drainAll();
      expect(await hook.titles()).to.deep.equal(range(1, 4).map(titleOf));
      expect(new Set(await outcomes())).to.deep.equal(new Set(['posted']));
    });

  it('a message that was stored and not marked is not posted again and takes no second place', async () => {
    await hook.deliverIssues(1, 2);
    await hook.drain();
    const [first] = await hook.stored();
    const { deliveries, webhooks } = scene.api.platform.db;
    await deliveries.updateOne({ _id: first?._id ?? '' }, { $set: { outcome: 'waiting' } });
    await hook.rest();
    expect(await hook.drain()).to.equal(null);
    expect(await hook.titles()).to.deep.equal(range(1, 2).map(titleOf));
    expect((await webhooks.findOne({ _id: hook.id }).lean())?.deliveryPosts).to.deep.equal([]);
  });

  it('one that the database refuses has failed after 5 tries, with a reason, and holds up the others no longer', async () => {
    const { messages } = scene.api.platform.db;
    await hook.deliverIssues(1, 3);
    const [first] = await hook.stored();
    const foreign = scene.api.platform.ids.next();
    await messages.collection.insertOne({ _id: foreign as never, createId: first?._id, channelId: 'elsewhere', authorId: 'someone' });
    for (let tries = 1; tries < 5; tries++) {
      const fault = await hook.drain().catch((error: unknown) => error);
      expect(fault, `try ${tries}`).to.be.instanceOf(Error);
      expect(await hook.titles()).to.deep.equal([]);
    }
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal([titleOf(2), titleOf(3)]);
    const [, , failed] = await hook.log();
    expect(failed).to.include({ outcome: 'failed', reason: 'the message could not be stored in 5 tries' });
    expect((await hook.stored())[0]).not.to.have.any.keys('facts', 'deliveryId');
  });

  it('a database that cannot be reached counts as no try', async () => {
    await hook.deliverIssues(1, 1);
    for (let n = 0; n < 7; n++) {
      await hook.rest();
      around(scene.worker.db.messages.collection, 'insertOne', () =>
        Promise.reject(Object.assign(new Error('away'), { name: 'MongoNetworkError' })),
      );
      expect(await hook.drain().catch((error: Error) => error.name)).to.equal('MongoNetworkError');
    }
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal([titleOf(1)]);
  });

  it('message ids grow though the clocks of those who make them differ', async () => {
    await hook.deliverIssues(1, 1);
    await hook.drain();
    const { messages } = scene.api.platform.db;
    const [first] = await hook.messages();
    const ahead = idOf(Date.now() + 3_600_000, 1_023, 5); // what another process' clock made
    await messages.deleteOne({ _id: first?._id ?? '' });
    await messages.collection.insertOne({ ...first, _id: ahead } as never);
    await hook.deliverIssues(2, 3);
    await hook.drain();
    expect((await hook.messages())[0]?._id).to.equal(ahead);
    expect(await hook.titles()).to.deep.equal(range(1, 3).map(titleOf));
  });

  describe('the sweep', () => {
    const age = (ms: number) =>
      scene.api.platform.db.deliveries.collection.updateMany({ webhookId: hook.id }, [{ $set: { at: { $subtract: ['$at', ms] } } }]);

    it('posts what waits for more than 2 s, and nothing younger', async () => {
      await hook.deliverIssues(1, 1);
      await sweepDeliveries(scene.worker);
      expect(await hook.titles()).to.deep.equal([]);
      await age(2_100);
      await sweepDeliveries(scene.worker);
      expect(await hook.titles()).to.deep.equal([titleOf(1)]);
    });

    it('leaves alone a webhook that is drained or rests, and takes it up 2 s after that', async () => {
      await hook.deliverIssues(1, 1);
      await age(60_000);
      const { webhooks } = scene.api.platform.db;
      await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() - 1_000) } });
      await sweepDeliveries(scene.worker);
      expect(await hook.titles()).to.deep.equal([]);
      await webhooks.updateOne({ _id: hook.id }, { $set: { drainAt: new Date(Date.now() - 2_100) } });
      await sweepDeliveries(scene.worker);
      expect(await hook.titles()).to.deep.equal([titleOf(1)]);
    });

    it('one webhook that fails does not hold up the others', async () => {
      const hooks = [hook, await scene.make(), await scene.make()];
      for (const one of hooks) await one.deliverIssues(1, 1);
      const mine = { webhookId: { $in: hooks.map(({ id }) => id) } };
      await scene.api.platform.db.deliveries.collection.updateMany(mine, [{ $set: { at: { $subtract: ['$at', 5_000] } } }]);
      around(scene.worker.db.messages.collection, 'insertOne', () => Promise.reject(new Error('refused')));
      await sweepDeliveries(scene.worker).catch(() => undefined);
      expect((await Promise.all(hooks.map((one) => one.titles()))).flat()).to.have.length(2);
    });
  });
});
