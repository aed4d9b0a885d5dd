import { expect } from 'chai';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import { type Scene, startScene } from '../harness/scene.ts';

describe('finish-removal of a category, with a channel put into it meanwhile', () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const call = async (status: number, method: string, path: string, body?: unknown): Promise<{ id: string }> => {
    const answer = await scene.api.call<{ id: string }>(method, path, { as: scene.asPerson, body });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    return answer.body;
  };

  it('the channel keeps its messages, is not told to be gone, and stands outside any category at the end', async () => {
    const { channels, messages, removals } = scene.api.platform.db;
    const inServer = `/api/servers/${scene.world.serverId}/channels`;
    const category = await call(201, 'POST', inServer, { name: 'c', kind: 'category' });
    const moved = await call(201, 'POST', inServer, { name: 'x', kind: 'text' });
    await call(201, 'POST', `/api/channels/${moved.id}/messages`, { content: 'stays' });
    await call(204, 'DELETE', `/api/channels/${category.id}`);
    const told: string[] = [];
    // The PATCH that had seen the category lands after the channels were taken out of it, and its process dies there.
    const meanwhile = {
      ...scene.worker,
      append: async (...[place, events]: Parameters<typeof scene.worker.append>) => {
        told.push(...events.map(({ id }) => id));
        await channels.collection.updateOne({ _id: moved.id as never }, { $set: { parentId: category.id } });
        return scene.worker.append(place, events);
      },
    };
    await finishRemoval(meanwhile, category.id);
    expect(told).to.deep.equal([`gone-${category.id}`]);
    expect(await messages.countDocuments({ channelId: moved.id })).to.equal(1);
    await removals.updateOne({ _id: category.id }, { $set: { at: new Date(0) } });
    expect(await finishRemoval(scene.worker, category.id)).to.equal(null);
    expect(await channels.findOne({ _id: moved.id }).lean()).to.include({ parentId: null });
    expect(await messages.countDocuments({ channelId: moved.id })).to.equal(1);
  });
});
