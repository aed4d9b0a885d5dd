import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { expireUnanswered } from '../../lib/domain/jobs/interactions.ts';
import { seal } from '../../lib/store/seal.ts';
import { reply } from '../harness/endpoint.ts';
import { setOverwrite } from '../harness/factories.ts';
import { send } from '../harness/requests.ts';
import { setApplication } from '../harness/seed.ts';
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
  const call = (status: number, method: string, path: string, body?: object): Promise<unknown> =>
    send(fixture.api, status, fixture.person, method, path, body);
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
      expect(await fixture.logged(id)).to.equal(null);
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

  for (const [what, answering, hasJob] of [
    ['a failure', reply(500), true],
    ['an empty answer', reply(200), true],
    ['an answer', reply(200, { type: 'message', content: 'x' }), false],
  ] as const)
    it(`${what} of the endpoint leaves ${hasJob ? 'a' : 'no'} job for the expiry`, async () => {
      fixture.endpoint.answer(answering);
      const id = await fixture.use();
      await fixture.post(id);
      expect(await fixture.worker.jobs.isQueued('expire-interaction', { interactionId: id })).to.equal(hasJob);
    });

  it('sends nothing when the signing secret cannot be decrypted; the log says what to do, and a reset fixes it', async () => {
    await setApplication(fixture.api.platform, fixture.bot, { signingSecret: seal(randomBytes(32), 'lost') });
    const id = await fixture.use();
    const reason = 'the signing secret cannot be decrypted; reset it in the developer portal';
    expect(await expectNothingSent(id)).to.deep.equal(failed(reason));
    await call(200, 'POST', `${application()}/signing-secret`);
    const next = await fixture.use();
    await fixture.post(next);
    expect(fixture.posted()).to.deep.equal([next]);
  });

  it('posts only to the current URL after it was changed', async () => {
    const id = await fixture.use();
    await call(200, 'PATCH', application(), { interactionsEndpointUrl: `${fixture.endpoint.site.url}/moved` });
    const asked = fixture.endpoint.site.asked.length;
    await fixture.post(id);
    expect(fixture.endpoint.site.asked.slice(asked)).to.deep.equal(['/moved']);
    expect(fixture.posted()).to.deep.equal([id]);
  });

  const channel = (): string => `/api/channels/${fixture.channelId}`;
  const botAsMember = (): string => `/api/servers/${fixture.seeded.serverId}/members/${fixture.bot.id}`;
  const hideChannel = () => setOverwrite(fixture.api, fixture.person, fixture.channelId, fixture.bot.id, 0, 1);
  const noUrl = 'the application no longer has an Interactions Endpoint URL';
  const noView = 'the bot can no longer view the channel';
  for (const [what, act, reason] of [
    ['the URL was removed', () => call(200, 'PATCH', application(), { interactionsEndpointUrl: null }), noUrl],
    ['the bot was removed from the server', () => call(204, 'DELETE', botAsMember()), noView],
    ['the channel was hidden from the bot', () => hideChannel(), noView],
    ['the channel was deleted', () => call(204, 'DELETE', channel()), noView],
  ] as const)
    it(`sends nothing after ${what}`, async () => {
      const id = await fixture.use();
      await act();
      expect(await expectNothingSent(id)).to.deep.equal(failed(reason));
      expect(await fixture.logged(id)).to.deep.equal([null, 'failed', reason]);
    });

  it('sends nothing after the application was deleted', async () => {
    const id = await fixture.use();
    await call(204, 'DELETE', application());
    await expectNothingSent(id);
  });

  it('does not apply an answer when the channel was deleted during the request', async () => {
    fixture.endpoint.answer((received, response) => {
      void call(204, 'DELETE', channel()).then(() => reply(200, { type: 'message', content: 'x' })(received, response));
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
