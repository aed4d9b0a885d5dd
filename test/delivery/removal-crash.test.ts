import { expect } from 'chai';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { makeChannel, makeThread, postMessage } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { entriesOf } from '../harness/log.ts';
import { findDueRemovals } from '../harness/overdue-keys.ts';
import { expectKilled, sendFatal, useOwnProcess } from '../harness/own-process.ts';
import { send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';

describe('finish-removal: killed processes', () => {
  // A change counts as under way for 5 s after its process was killed.
  const fixture = use(() => startInteractionFixture({ STORE_TIMEOUT_FACTOR: '2' }));
  const start = useOwnProcess(() => fixture.api.platform.config);
  const call = (status: number, method: string, path: string): Promise<unknown> => send(fixture.api, status, fixture.person, method, path);
  /** Creates a channel with a thread and a message in each. */
  const makeChannels = async (): Promise<string[]> => {
    const { id } = await makeChannel(fixture.api, fixture.person, fixture.seeded.serverId, { name: 'x' });
    const ids = [id, (await makeThread(fixture.api, fixture.person, id, { name: 'x' })).id];
    for (const channelId of ids) await postMessage(fixture.api, fixture.person, channelId);
    return ids;
  };
  const messagesIn = (ids: string[]): Promise<number> => fixture.api.platform.db.messages.countDocuments({ channelId: { $in: ids } });
  const deletedEvents = async (ids: string[]): Promise<string[]> => {
    const logged = await entriesOf(fixture.worker.config, serverPlace(fixture.seeded.serverId));
    return logged.flatMap(({ name, data }) => (name === 'CHANNEL_DELETE' && ids.includes(String(data.id)) ? [String(data.id)] : []));
  };
  /** Does what the sweep does after `ms`. */
  const sweepAfter = async (id: string, ms: number): Promise<void> => {
    const back = { at: { $subtract: ['$at', ms] }, nextAt: { $subtract: ['$nextAt', ms] } };
    await fixture.api.platform.db.removals.updateOne({ _id: id }, [{ $set: back }]);
    expect(await findDueRemovals(fixture.worker)).to.include(id);
    await finishRemoval(fixture.worker, id);
  };
  const expectFinished = async (ids: string[]): Promise<void> => {
    const [id] = ids as [string];
    expect([await messagesIn(ids), await deletedEvents(ids)]).to.deep.equal([0, ids]);
    await sweepAfter(id, 61_000);
    const { channels, removals } = fixture.api.platform.db;
    expect([
      await channels.countDocuments({ serverId: fixture.seeded.serverId, name: 'x' }),
      await removals.countDocuments(),
    ]).to.deep.equal([0, 0]);
    expect(await deletedEvents(ids)).to.deep.equal(ids);
  };

  it('api killed between intent and deletion: the channel exists until the sweep removes it completely', async () => {
    const ids = await makeChannels();
    const [id] = ids as [string];
    await sendFatal(await start('api', 'after-removal-intent'), fixture.asPerson, 'DELETE', `/api/channels/${id}`);
    await call(200, 'GET', `/api/channels/${id}`);
    await sweepAfter(id, 2_500);
    await call(404, 'GET', `/api/channels/${id}`);
    await expectFinished(ids);
  });

  it('worker killed halfway: another worker finishes, and each CHANNEL_DELETE is sent once', async () => {
    const ids = await makeChannels();
    const [id, inside] = ids as [string, string];
    await expectKilled(await start('worker', 'during-removal'), () => call(204, 'DELETE', `/api/channels/${id}`));
    expect([await messagesIn([id]), await messagesIn([inside]), await deletedEvents(ids)]).to.deep.equal([0, 1, [id]]);
    await sweepAfter(id, 11_000);
    await expectFinished(ids);
  });
});
