import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import { overdueRemovals } from '../../lib/domain/servers/removals.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { entriesOf } from '../harness/log.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { type Scene, startScene } from '../harness/scene.ts';

describe('A removal whose process is killed', function () {
  this.timeout(180_000); // a process starts in each
  let scene: Scene;
  let child: OwnProcess;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());
  afterEach(() => {
    child.kill();
  });

  /** A process of its own over the same stores, that dies at `failpoint`. */
  const startChild = async (role: 'api' | 'worker', failpoint: Failpoint): Promise<void> => {
    child = await startOwn(role, scene.api.platform.config, { failpoint });
  };
  const call = async (status: number, method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await scene.api.call<{ id: string }>(method, path, { as: scene.asPerson, body });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    return answer.body?.id;
  };
  /** A channel with a thread, a message in each. */
  const make = async (): Promise<string[]> => {
    const id = await call(201, 'POST', `/api/servers/${scene.world.serverId}/channels`, { name: 'x', kind: 'text' });
    const ids = [id, await call(201, 'POST', `/api/channels/${id}/threads`, { name: 'x' })];
    for (const channelId of ids) await call(201, 'POST', `/api/channels/${channelId}/messages`, { content: 'x' });
    return ids;
  };
  const messagesIn = (ids: string[]): Promise<number> =>
    scene.api.platform.db.messages.collection.countDocuments({ channelId: { $in: ids } });
  const told = async (ids: string[]): Promise<string[]> => {
    const logged = await entriesOf(scene.worker.config, serverPlace(scene.world.serverId));
    return logged.flatMap(({ name, data }) => (name === 'CHANNEL_DELETE' && ids.includes(String(data.id)) ? [String(data.id)] : []));
  };
  /** What the sweep does when `ms` have passed. */
  const sweepAfter = async (id: string, ms: number): Promise<void> => {
    const back = { at: { $subtract: ['$at', ms] }, nextAt: { $subtract: ['$nextAt', ms] } };
    await scene.api.platform.db.removals.collection.updateOne({ _id: id as never }, [{ $set: back }]);
    expect(await overdueRemovals(scene.worker)).to.include(id);
    await finishRemoval(scene.worker, id);
  };
  const finished = async (ids: string[]): Promise<void> => {
    const [id] = ids as [string];
    expect([await messagesIn(ids), await told(ids)]).to.deep.equal([0, ids]);
    await sweepAfter(id, 61_000);
    const { channels, removals } = scene.api.platform.db;
    expect([await channels.countDocuments({ serverId: scene.world.serverId, name: 'x' }), await removals.countDocuments()]).to.deep.equal([
      0, 0,
    ]);
    expect(await told(ids)).to.deep.equal(ids);
  };

  it('an api between intent and deletion: the channel is there until the sweep, then it goes to the end', async () => {
    const ids = await make();
    const [id] = ids as [string];
    await startChild('api', 'after-removal-intent');
    const died = child.ended;
    const answered = await fetch(`${child.url}/api/channels/${id}`, {
      method: 'DELETE',
      headers: { Authorization: scene.asPerson },
    }).catch(() => null);
    expect([answered, (await died)[1]]).to.deep.equal([null, 'SIGKILL']);
    await call(200, 'GET', `/api/channels/${id}`);
    await sweepAfter(id, 2_500);
    await call(404, 'GET', `/api/channels/${id}`);
    await finished(ids);
  });

  it('a worker half way: another finishes, and each CHANNEL_DELETE comes once', async () => {
    const ids = await make();
    const [id, inside] = ids as [string, string];
    await startChild('worker', 'during-removal');
    const died = child.ended;
    await call(204, 'DELETE', `/api/channels/${id}`);
    expect((await died)[1]).to.equal('SIGKILL');
    expect([await messagesIn([id]), await messagesIn([inside]), await told(ids)]).to.deep.equal([0, 1, [id]]);
    await sweepAfter(id, 11_000);
    await finished(ids);
  });
});
