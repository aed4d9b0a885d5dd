import { expect } from 'chai';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { makeChannel, postMessage } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { withLog } from '../harness/intercept.ts';
import { send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';

describe('finish-removal: a channel moved into a category that is being removed', () => {
  const fixture = use(startInteractionFixture);

  it('keeps the channel and its messages, sends no CHANNEL_DELETE for it, and clears its parentId', async () => {
    const { channels, messages, removals } = fixture.api.platform.db;
    const { api, person, seeded } = fixture;
    const category = await makeChannel(api, person, seeded.serverId, { kind: 'category' });
    const moved = await makeChannel(api, person, seeded.serverId);
    await postMessage(api, person, moved.id);
    await send(api, 204, person, 'DELETE', `/api/channels/${category.id}`);
    const appendedIds: string[] = [];
    // A PATCH that read the category writes after the channels were taken out of it, and its process dies then.
    const meanwhile = withLog(fixture.worker, {
      append: async (...[place, events]: Parameters<typeof fixture.worker.eventLog.append>) => {
        appendedIds.push(...events.map(({ id }) => id));
        await channels.updateOne({ _id: moved.id }, { $set: { parentId: category.id } });
        return fixture.worker.eventLog.append(place, events);
      },
    });
    await finishRemoval(meanwhile, category.id);
    await relayEvents(meanwhile, 'server', seeded.serverId);
    expect([...new Set(appendedIds.filter((id) => id.startsWith('gone-')))]).to.deep.equal([`gone-${category.id}`]);
    expect(await messages.countDocuments({ channelId: moved.id })).to.equal(1);
    await removals.updateOne({ _id: category.id }, { $set: { at: new Date(0) } });
    expect(await finishRemoval(fixture.worker, category.id)).to.equal(null);
    expect(await channels.findOne({ _id: moved.id })).to.include({ parentId: null });
    expect(await messages.countDocuments({ channelId: moved.id })).to.equal(1);
  });
});
