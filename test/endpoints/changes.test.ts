import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { seal } from '../../lib/store/seal.ts';
import { expireInteractionJob } from '../../workers/expire-interaction.ts';
import { reply } from '../harness/endpoint.ts';
import { type RaceScene, startRaceScene } from './race-scene.ts';

describe('Interactions Endpoint: what changes between the use of a command and its request', () => {
  let scene: RaceScene;
  beforeEach(async () => {
    scene = await startRaceScene();
    scene.endpoint.answer(reply(200, { type: 'message', content: 'x' }));
  });
  afterEach(() => scene.close());

  const application = (): string => `/api/applications/${scene.bot.applicationId}`;
  /** The job runs, and again: nothing is sent; what the log says of it. */
  const sendsNothing = async (id: string): Promise<unknown> => {
    await scene.post(id);
    await scene.post(id);
    expect(scene.posted()).to.deep.equal([]);
    expect(await scene.answersTo(id)).to.deep.equal([]);
    return (await scene.stored(id)).delivery;
  };
  const failed = (reason: string) => ({ status: null, ms: 0, outcome: 'failed', reason });

  it('answered by a callback before the job came: nothing is sent, nothing is in the log', async () => {
    const id = await scene.use();
    expect((await scene.send('callback', id, { type: 'defer' })).status).to.equal(204);
    expect(await sendsNothing(id)).to.equal(undefined);
    expect(await scene.logged(id)).to.equal(null);
  });

  it('its 3 seconds are over: nothing is sent, whether it was ended already or not', async () => {
    for (const ended of [false, true]) {
      const id = await scene.use();
      await scene.age(id, 3_000);
      if (ended) await expireInteractionJob(scene.worker, { interactionId: id });
      expect(await sendsNothing(id)).to.equal(undefined);
    }
  });

  it('the job runs twice, and again after the answer: one request', async () => {
    const id = await scene.use();
    await Promise.all([scene.post(id), scene.post(id)]);
    const before = await scene.snapshot();
    await scene.post(id);
    await scene.age(id, 4_000);
    await scene.post(id);
    await scene.age(id, -60_000);
    expect(scene.posted()).to.deep.equal([id]);
    const bare = (text: string): string => text.replaceAll(/"createdAt":"[^"]+"/g, '');
    expect(bare(await scene.snapshot())).to.equal(bare(before));
  });

  it('the signing secret cannot be decrypted: nothing is sent, the log says what to do, and a reset mends it', async () => {
    const { applications } = scene.api.platform.db;
    await applications.updateOne({ _id: scene.bot.applicationId }, { $set: { signingSecret: seal(randomBytes(32), 'lost') } });
    const id = await scene.use();
    const reason = 'the signing secret cannot be decrypted: reset it in the developer portal';
    expect(await sendsNothing(id)).to.deep.equal(failed(reason));
    expect((await scene.api.call('POST', `${application()}/signing-secret`, { as: scene.asPerson })).status).to.equal(200);
    const next = await scene.use();
    await scene.post(next);
    expect(scene.posted()).to.deep.equal([next]);
  });

  it('the URL was removed: nothing is sent', async () => {
    const id = await scene.use();
    const body = { interactionsEndpointUrl: null };
    expect((await scene.api.call('PATCH', application(), { as: scene.asPerson, body })).status).to.equal(200);
    expect(await sendsNothing(id)).to.deep.equal(failed('the application has no Interactions Endpoint any more'));
    expect(await scene.logged(id)).to.deep.equal([null, 'failed', 'the application has no Interactions Endpoint any more']);
  });

  it('the URL was changed: it goes to the one saved now, and to that alone', async () => {
    const id = await scene.use();
    const body = { interactionsEndpointUrl: `${scene.endpoint.site.url}/moved` };
    expect((await scene.api.call('PATCH', application(), { as: scene.asPerson, body })).status).to.equal(200);
    const asked = scene.endpoint.site.asked.length;
    await scene.post(id);
    expect(scene.endpoint.site.asked.slice(asked)).to.deep.equal(['/moved']);
    expect(scene.posted()).to.deep.equal([id]);
  });

  it('the application was deleted: nothing is sent', async () => {
    const id = await scene.use();
    expect((await scene.api.call('DELETE', application(), { as: scene.asPerson })).status).to.equal(204);
    await sendsNothing(id);
  });

  it('the bot was removed from the server: nothing is sent', async () => {
    const id = await scene.use();
    const path = `/api/servers/${scene.world.serverId}/members/${scene.bot.id}`;
    expect((await scene.api.call('DELETE', path, { as: scene.asPerson })).status).to.equal(204);
    expect(await sendsNothing(id)).to.deep.equal(failed('the bot may not see the channel any more'));
  });

  it('the channel was hidden from the bot: nothing is sent', async () => {
    const id = await scene.use();
    const overwrites = [{ id: scene.bot.id, allow: 0, deny: 1 }];
    await scene.api.platform.versions.changing({ servers: [scene.world.serverId] }, () =>
      scene.api.platform.db.channels.updateOne({ _id: scene.channelId }, { $set: { overwrites } }),
    );
    expect(await sendsNothing(id)).to.deep.equal(failed('the bot may not see the channel any more'));
  });

  it('the channel was deleted: nothing is sent', async () => {
    const id = await scene.use();
    expect((await scene.api.call('DELETE', `/api/channels/${scene.channelId}`, { as: scene.asPerson })).status).to.equal(204);
    expect(await sendsNothing(id)).to.deep.equal(failed('the bot may not see the channel any more'));
  });

  it('the channel is deleted while the endpoint thinks: its answer is not applied', async () => {
    scene.endpoint.answer((received, response) => {
      void scene.api
        .call('DELETE', `/api/channels/${scene.channelId}`, { as: scene.asPerson })
        .then(() => reply(200, { type: 'message', content: 'x' })(received, response));
    });
    const id = await scene.use();
    await scene.post(id);
    expect(scene.posted()).to.deep.equal([id]);
    expect(await scene.messages()).to.deep.equal([]);
    const [status, outcome, reason] = (await scene.logged(id)) ?? [];
    expect([status, outcome]).to.deep.equal([200, 'failed']);
    expect(reason).to.match(/^not_found: /);
  });
});
