import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { expireUnanswered } from '../../lib/domain/jobs/interactions.ts';
import { seal } from '../../lib/store/seal.ts';
import { reply } from '../harness/endpoint.ts';
import { use } from '../harness/use.ts';
import { startRaceFixture } from './race-fixture.ts';

describe('Interactions Endpoint: changes between the use of a command and its request', () => {
  const fixture = use(startRaceFixture, { each: true });
  beforeEach(() => fixture.endpoint.answer(reply(200, { type: 'message', content: 'x' })));

  const application = (): string => `/api/applications/${fixture.bot.applicationId}`;
  /** Runs the job twice and expects that nothing is sent. Returns the stored outcome. */
  const expectNothingSent = async (id: string): Promise<unknown> => {
    await fixture.post(id);
    await fixture.post(id);
    expect(fixture.posted()).to.deep.equal([]);
    expect(await fixture.answersTo(id)).to.deep.equal([]);
    return (await fixture.stored(id)).delivery;
  };
  const failed = (reason: string) => ({ status: null, ms: 0, outcome: 'failed', reason });

  it('sends and logs nothing when a callback answered before the job ran', async () => {
    const id = await fixture.use();
    expect((await fixture.send('callback', id, { type: 'defer' })).status).to.equal(204);
    expect(await expectNothingSent(id)).to.equal(undefined);
    expect(await fixture.logged(id)).to.equal(null);
  });

  it('sends nothing after the 3 seconds, whether or not the interaction has expired already', async () => {
    for (const ended of [false, true]) {
      const id = await fixture.use();
      await fixture.age(id, 3_000);
      if (ended) await expireUnanswered(fixture.worker, id);
      expect(await expectNothingSent(id)).to.equal(undefined);
    }
  });

  it('sends one request when the job runs twice, and again after the answer', async () => {
    const id = await fixture.use();
    await Promise.all([fixture.post(id), fixture.post(id)]);
    const before = await fixture.snapshot();
    await fixture.post(id);
    await fixture.age(id, 4_000);
    await fixture.post(id);
    await fixture.age(id, -60_000);
    expect(fixture.posted()).to.deep.equal([id]);
    const withoutTimes = (text: string): string => text.replaceAll(/"createdAt":"[^"]+"/g, '');
    expect(withoutTimes(await fixture.snapshot())).to.equal(withoutTimes(before));
  });

  it('sends nothing when the signing secret cannot be decrypted; the log says what to do, and a reset fixes it', async () => {
    const { applications } = fixture.api.platform.db;
    await applications.updateOne({ _id: fixture.bot.applicationId }, { $set: { signingSecret: seal(randomBytes(32), 'lost') } });
    const id = await fixture.use();
    const reason = 'the signing secret cannot be decrypted; reset it in the developer portal';
    expect(await expectNothingSent(id)).to.deep.equal(failed(reason));
    expect((await fixture.api.call('POST', `${application()}/signing-secret`, { as: fixture.asPerson })).status).to.equal(200);
    const next = await fixture.use();
    await fixture.post(next);
    expect(fixture.posted()).to.deep.equal([next]);
  });

  it('sends nothing after the URL was removed', async () => {
    const id = await fixture.use();
    const body = { interactionsEndpointUrl: null };
    expect((await fixture.api.call('PATCH', application(), { as: fixture.asPerson, body })).status).to.equal(200);
    expect(await expectNothingSent(id)).to.deep.equal(failed('the application no longer has an Interactions Endpoint URL'));
    expect(await fixture.logged(id)).to.deep.equal([null, 'failed', 'the application no longer has an Interactions Endpoint URL']);
  });

  it('posts only to the current URL after it was changed', async () => {
    const id = await fixture.use();
    const body = { interactionsEndpointUrl: `${fixture.endpoint.site.url}/moved` };
    expect((await fixture.api.call('PATCH', application(), { as: fixture.asPerson, body })).status).to.equal(200);
    const asked = fixture.endpoint.site.asked.length;
    await fixture.post(id);
    expect(fixture.endpoint.site.asked.slice(asked)).to.deep.equal(['/moved']);
    expect(fixture.posted()).to.deep.equal([id]);
  });

  it('sends nothing after the application was deleted', async () => {
    const id = await fixture.use();
    expect((await fixture.api.call('DELETE', application(), { as: fixture.asPerson })).status).to.equal(204);
    await expectNothingSent(id);
  });

  it('sends nothing after the bot was removed from the server', async () => {
    const id = await fixture.use();
    const path = `/api/servers/${fixture.seeded.serverId}/members/${fixture.bot.id}`;
    expect((await fixture.api.call('DELETE', path, { as: fixture.asPerson })).status).to.equal(204);
    expect(await expectNothingSent(id)).to.deep.equal(failed('the bot can no longer view the channel'));
  });

  it('sends nothing after the channel was hidden from the bot', async () => {
    const id = await fixture.use();
    const overwrites = [{ id: fixture.bot.id, allow: 0, deny: 1 }];
    await fixture.api.platform.accessVersions.runChange({ servers: [fixture.seeded.serverId] }, () =>
      fixture.api.platform.db.channels.updateOne({ _id: fixture.channelId }, { $set: { overwrites } }),
    );
    expect(await expectNothingSent(id)).to.deep.equal(failed('the bot can no longer view the channel'));
  });

  it('sends nothing after the channel was deleted', async () => {
    const id = await fixture.use();
    expect((await fixture.api.call('DELETE', `/api/channels/${fixture.channelId}`, { as: fixture.asPerson })).status).to.equal(204);
    expect(await expectNothingSent(id)).to.deep.equal(failed('the bot can no longer view the channel'));
  });

  it('does not apply an answer when the channel was deleted during the request', async () => {
    fixture.endpoint.answer((received, response) => {
      void fixture.api
        .call('DELETE', `/api/channels/${fixture.channelId}`, { as: fixture.asPerson })
        .then(() => reply(200, { type: 'message', content: 'x' })(received, response));
    });
    const id = await fixture.use();
    await fixture.post(id);
    expect(fixture.posted()).to.deep.equal([id]);
    expect(await fixture.messages()).to.deep.equal([]);
    const [status, outcome, reason] = (await fixture.logged(id)) ?? [];
    expect([status, outcome]).to.deep.equal([200, 'failed']);
    expect(reason).to.match(/^not_found: /);
  });
});
