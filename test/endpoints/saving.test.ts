import { expect } from 'chai';
import type { Application } from '../../lib/contract/application.ts';
import { type Answer, startTestApi, type TestApi } from '../harness/api.ts';
import { expectError } from '../harness/expect-error.ts';
import { type Bot, type Caller, makeApplication, makePerson, send } from '../harness/factories.ts';
import { type Bad, type BadEndpoints, startBadEndpoints } from './bad-endpoints.ts';

const kept = 'https://kept.example/interactions';

describe('PATCH /api/applications/{id} with an interactionsEndpointUrl', () => {
  let api: TestApi;
  let endpoints: BadEndpoints;
  let owner: Caller;
  let spare: Bot;
  const slow = new Map<Bad, Promise<void>>();

  /** Saves a bad URL with everything else that a PATCH takes, and expects that nothing of it was. */
  const refuses = async ({ url, step, status }: Bad, bot: Bot): Promise<void> => {
    const path = `/api/applications/${bot.applicationId}`;
    const { applications, accounts } = api.platform.db;
    await applications.updateOne({ _id: bot.applicationId }, { $set: { interactionsEndpointUrl: kept } });
    const stored = async () => [await applications.findOne({ _id: bot.applicationId }).lean(), await accounts.findById(bot.id).lean()];
    const before = await stored();
    const body = { name: 'other', description: 'other', public: true, inDirectory: true, interactionsEndpointUrl: url };
    const answer: Answer = await api.call('PATCH', path, { as: owner.as, body });
    expectError(answer, 400, 'endpoint_unverified');
    const [error, ...more] = answer.body.errors as { path: string; message: string; step: string; status: number | null; ms: number }[];
    expect(more).to.have.length(0);
    expect(error).to.have.all.keys('path', 'message', 'step', 'status', 'ms');
    expect(error).to.deep.include({ path: '/interactionsEndpointUrl', step, status });
    expect(error?.ms).to.be.at.least(0).and.satisfy(Number.isInteger);
    expect(error?.message)
      .to.include(`\`${step}\``)
      .and.include(`${error?.ms} ms`)
      .and.not.match(/127\.0\.0\.1|::1/);
    expect(await stored()).to.deep.equal(before);
  };

  before(async () => {
    api = await startTestApi();
    endpoints = await startBadEndpoints();
    Object.assign(api.platform, { outbound: endpoints.outbound });
    owner = await makePerson(api);
    spare = await makeApplication(api, owner);
    // Those that take their 3 seconds do so together, each with an application of its own.
    for (const bad of endpoints.bad.filter(({ hangs }) => hangs)) {
      const run = makeApplication(api, owner).then((bot) => refuses(bad, bot));
      run.catch(() => undefined);
      slow.set(bad, run);
    }
  });
  after(async () => {
    await Promise.allSettled(slow.values());
    await api.close();
    await endpoints.close();
  });

  it('400 endpoint_unverified for every way to fail, told with its step, and nothing of the PATCH is saved', async () => {
    const faults: string[] = [];
    for (const bad of endpoints.bad)
      await (slow.get(bad) ?? refuses(bad, spare)).catch((error: Error) => faults.push(`${bad.what}: ${error.message}`));
    expect(faults).to.deep.equal([]);
    expect(endpoints.bad.length).to.be.greaterThan(70);
    expect(new Set(endpoints.bad.map(({ step }) => step)).size).to.equal(6);
    expect(endpoints.trespasses()).to.equal(0);
  });

  it('200 for one that passes, and everything else in the PATCH is saved with it', async () => {
    const body = { name: 'other', description: 'new', public: true, inDirectory: true, interactionsEndpointUrl: endpoints.good };
    const saved = await send<Application>(api, 200, owner, 'PATCH', `/api/applications/${spare.applicationId}`, body);
    expect(saved).to.deep.include(body);
    expect(await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}`)).to.deep.equal(saved);
  });
});
