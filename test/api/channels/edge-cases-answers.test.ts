import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { type Scene, startScene } from '../../harness/scene.ts';

describe('edge cases of messages: answers of commands', () => {
  let scene: Scene;

  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const change = (write: () => Promise<unknown>): Promise<unknown> =>
    scene.api.platform.versions.changing({ servers: [scene.world.serverId] }, write);
  const answer = async (content: string): Promise<Record<string, unknown>> => {
    const { status, body } = await scene.send('callback', await scene.use(), { type: 'message', content });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body;
  };

  it('@everyone counts with the bot’s own Mention Everyone, never with the person’s', async () => {
    const { serverId, ownerId } = scene.world;
    const content = `@everyone <@${ownerId}> \`<@${scene.bot.id}>\` <@&${serverId}>`;
    const expected = { mentions: [ownerId], mentionRoles: [], mentionEveryone: false };
    expect(await answer(content)).to.deep.include(expected);
    const { servers } = scene.api.platform.db;
    const all = 15 | permissionBits['Mention Everyone'];
    await change(() => servers.updateOne({ _id: serverId }, { $set: { 'roles.0.permissions': all } }));
    expect(await answer(content)).to.deep.include({ ...expected, mentionEveryone: true });
    await change(() => servers.updateOne({ _id: serverId }, { $set: { 'roles.0.permissions': 15 } }));
  });

  it('content without width is refused and does not consume the answer', async () => {
    const id = await scene.use();
    expect((await scene.send('callback', id, { type: 'message', content: '\u200b\u2060' })).status).to.equal(400);
    expect((await scene.send('callback', id, { type: 'message', embeds: [{ title: '\u3164' }] })).status).to.equal(400);
    expect((await scene.send('callback', id, { type: 'message', content: 'seen' })).status).to.equal(201);
  });

  it('slow mode asks for no turn of an answer or a follow-up, and they take none', async () => {
    const { channelId, asBot } = scene;
    await change(() => scene.api.platform.db.channels.updateOne({ _id: channelId }, { $set: { slowmodeSecs: 60 } }));
    const post = async (): Promise<number> =>
      (await scene.api.call('POST', `/api/channels/${channelId}/messages`, { as: asBot, body: { content: 'x' } })).status;
    for (let n = 0; n < 2; n++) await answer('x');
    expect([await post(), await post()]).to.deep.equal([201, 429]);
    const id = await scene.use();
    for (const route of ['callback', 'followup', 'followup'] as const)
      expect((await scene.send(route, id, { type: 'message', content: 'x' })).status).to.equal(201);
  });
});
