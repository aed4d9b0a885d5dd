import { expect } from 'chai';
import { jobs } from '../../lib/contract/jobs.ts';
import { sweepCrossposts } from '../../lib/domain/messages/crossposts.ts';
import { handlers } from '../../workers/handlers.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { copiesOf, type Following, makeFollowing } from '../harness/crosspost.ts';
import { postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { send } from '../harness/requests.ts';
import { ownerOf } from '../harness/seed.ts';
import { use } from '../harness/use.ts';

/** The handlers of the jobs that make copies. */
const own = Object.fromEntries(Object.entries(handlers).filter(([name]) => jobs[name as keyof typeof jobs].queue === 'crosspost'));

describe('crossposts that wait for a worker', () => {
  const api = use(startTestApiWithWorker, { each: true });

  const post = async ({ from, news }: Following, count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await postMessage(api, ownerOf(from), news, `news ${n}`)).id);
    return ids;
  };
  const crosspost = async ({ from, news }: Following, ids: readonly string[]): Promise<void> => {
    for (const id of ids) await send(api, 200, ownerOf(from), 'POST', `/api/channels/${news}/messages/${id}/crosspost`);
  };
  /** Runs the jobs until no copies are pending. */
  const runJobs = async (): Promise<void> => {
    const consumers = consumeJobs(api.worker, own);
    const isDone = async (): Promise<boolean> => (await api.platform.db.messages.countDocuments({ crosspostAt: { $exists: true } })) === 0;
    try {
      await waitUntil(isDone, 'no pending copies');
    } finally {
      await consumers.close();
    }
  };
  const originalsIn = async (channelId: string): Promise<(string | undefined)[]> =>
    (await api.platform.db.messages.find({ channelId }).sort({ _id: 1 }).toArray()).map(({ copyOf }) => copyOf);

  it('their copies are in each channel in the order of the originals, in whatever order they were crossposted', async () => {
    const following = await makeFollowing(api.platform, 60);
    const ids = await post(following, 5);
    await crosspost(following, ids.toReversed());
    await runJobs();
    for (const target of following.targets) expect(await originalsIn(target)).to.deep.equal(ids);
  });

  it('the crosspost of another server is copied after a slice of one with many copies', async () => {
    const [busy, other] = [await makeFollowing(api.platform, 120), await makeFollowing(api.platform, 1)];
    const ids = await post(busy, 5);
    const [one] = await post(other, 1);
    await crosspost(busy, ids);
    await crosspost(other, [one as string]);
    await runJobs();
    const [copy] = await copiesOf(api.platform, one as string);
    const earlier = { copyOf: { $in: ids }, _id: { $lt: copy?._id as string } };
    expect(await api.platform.db.messages.countDocuments(earlier)).to.be.at.most(100);
    expect(await api.platform.db.messages.countDocuments({ copyOf: { $in: ids } })).to.equal(5 * 120);
  });

  it('are found by the sweep without their jobs, each server once', async () => {
    const followings = [await makeFollowing(api.platform, 1), await makeFollowing(api.platform, 1)];
    for (const following of followings) await crosspost(following, await post(following, 2));
    const lost = { crosspostAt: { $exists: true } };
    await api.platform.db.messages.updateMany(lost, { $set: { crosspostAt: new Date(api.worker.now() - 60_000) } });
    const woken: unknown[] = [];
    const { tryEnqueue } = api.worker.jobs;
    Object.assign(api.worker.jobs, { tryEnqueue: (...job: unknown[]) => void woken.push(job) });
    await sweepCrossposts(api.worker).finally(() => Object.assign(api.worker.jobs, { tryEnqueue }));
    expect(woken).to.have.deep.members(followings.map(({ from: { serverId } }) => ['crosspost-server', { serverId }]));
  });

  it('are copied by a job that an earlier version has enqueued', async () => {
    const following = await makeFollowing(api.platform, 1);
    const [messageId] = (await post(following, 1)) as [string];
    await api.platform.db.messages.updateOne({ _id: messageId }, { $set: { crossposted: true, crosspostAt: new Date() } });
    await api.worker.jobs.enqueue('crosspost-message', { messageId, channelId: following.news, afterId: following.news });
    await runJobs();
    expect(await originalsIn(following.targets[0] as string)).to.deep.equal([messageId]);
  });
});
