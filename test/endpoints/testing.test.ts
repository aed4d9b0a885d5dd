import { expect } from 'chai';
import type { EndpointTest } from '../../lib/contract/endpoint.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { reply, startEndpoint } from '../harness/endpoint.ts';
import { type Bot, type Caller, makeApplication, makePerson, refused, send } from '../harness/factories.ts';
import { type Bad, type BadEndpoints, startBadEndpoints } from './bad-endpoints.ts';

const unknownId = '1000000000000000000';
const order = ['url', 'dns', 'connect', 'tls', 'status', 'body'];

describe('POST /api/applications/{id}/interactions-endpoint/test', () => {
  let api: TestApi;
  let endpoints: BadEndpoints;
  let owner: Caller;
  let spare: Bot;
  const slow = new Map<Bad, Promise<void>>();
  const path = (id: string): string => `/api/applications/${id}/interactions-endpoint/test`;

  /** Makes `url` the saved one without a ping: for those that passed once and would not any more. */
  const saved = async (bot: Bot, url: string): Promise<void> => {
    await api.platform.db.applications.updateOne({ _id: bot.applicationId }, { $set: { interactionsEndpointUrl: url } });
  };
  const test = async (bot: Bot, url: string): Promise<EndpointTest> => {
    await saved(bot, url);
    const result = await send<EndpointTest>(api, 200, owner, 'POST', path(bot.applicationId));
    expect(result).to.have.all.keys('ok', 'status', 'ms', 'step', 'reason', 'steps');
    for (const { ms } of [result, ...result.steps]) expect(ms).to.be.at.least(0).and.satisfy(Number.isInteger);
    return result;
  };
  const fails = async ({ url, step, status }: Bad, bot: Bot): Promise<void> => {
    const { steps, reason, ...rest } = await test(bot, url);
    expect(rest).to.deep.include({ ok: false, step, status });
    expect(reason)
      .to.match(/\w/)
      .and.not.match(/127\.0\.0\.1|::1/);
    // Every step before the one that failed, in order, and none after it; over plain http there is no TLS.
    const reached = order.slice(0, order.indexOf(step) + 1).filter((one) => one !== 'tls' || !url.startsWith('http:'));
    expect(steps.map((one) => [one.step, one.ok])).to.deep.equal(reached.map((one) => [one, one !== step]));
  };

  before(async () => {
    api = await startTestApi();
    endpoints = await startBadEndpoints();
    Object.assign(api.platform, { outbound: endpoints.outbound });
    owner = await makePerson(api);
    spare = await makeApplication(api, owner);
    for (const bad of endpoints.bad.filter(({ hangs }) => hangs)) {
      const run = makeApplication(api, owner).then((bot) => fails(bad, bot));
      run.catch(() => undefined);
      slow.set(bad, run);
    }
  });
  after(async () => {
    await Promise.allSettled(slow.values());
    await api.close();
    await endpoints.close();
  });

  it('200 ok for one that passes, with all six steps', async () => {
    const { steps, ms, ...rest } = await test(spare, endpoints.good);
    expect(rest).to.deep.equal({ ok: true, status: 200, step: null, reason: null });
    expect(steps.map(({ step, ok }) => [step, ok])).to.deep.equal(order.map((step) => [step, true]));
    expect(ms).to.be.at.least(Math.max(...steps.map((one) => one.ms)) - 1);
  });

  it('200 with the step that failed, its reason, and the steps up to it, for every way to fail', async () => {
    const faults: string[] = [];
    for (const bad of endpoints.bad)
      await (slow.get(bad) ?? fails(bad, spare)).catch((error: Error) => faults.push(`${bad.what}: ${error.message}`));
    expect(faults).to.deep.equal([]);
    expect(endpoints.trespasses()).to.equal(0);
  });

  it('the saved URL stays, whatever came of it, and nothing is in the log of deliveries', async () => {
    for (const url of [endpoints.good, 'https://unknown.example/']) {
      await test(spare, url);
      expect(await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}`)).to.include({ interactionsEndpointUrl: url });
    }
    const log = await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}/deliveries`);
    expect(log).to.deep.equal({ items: [], hasMore: false });
    expect(await api.platform.db.interactions.countDocuments({})).to.equal(0);
  });

  it('sends exactly one request, a ping', async () => {
    const endpoint = await startEndpoint(reply(200));
    const allowing = await startTestApi({ OUTBOUND_ALLOW: endpoint.site.pair });
    const person = await makePerson(allowing);
    const bot = await makeApplication(allowing, person);
    const body = { interactionsEndpointUrl: endpoint.url };
    await send(allowing, 200, person, 'PATCH', `/api/applications/${bot.applicationId}`, body);
    expect(await send(allowing, 200, person, 'POST', path(bot.applicationId))).to.deep.include({ ok: true });
    expect([endpoint.pings.length, endpoint.received.length, endpoint.site.opened()]).to.deep.equal([2, 0, 2]);
    expect(endpoint.pings.map(({ bytes }) => bytes.toString())).to.deep.equal(['{"type":"ping"}', '{"type":"ping"}']);
    await allowing.close();
    await endpoint.close();
  });

  it('400 invalid_request while no URL is saved', async () => {
    const bot = await makeApplication(api, owner);
    await refused(api, [400, 'invalid_request'], owner, 'POST', path(bot.applicationId));
  });

  it('403 not_owner, 403 bots_not_allowed, 404, 401, with and without a URL', async () => {
    const other = await makePerson(api);
    for (const url of [null, endpoints.good]) {
      await saved(spare, url as string);
      await refused(api, [403, 'not_owner'], other, 'POST', path(spare.applicationId));
      await refused(api, [403, 'bots_not_allowed'], spare, 'POST', path(spare.applicationId));
      await refused(api, [401, 'unauthorized'], null, 'POST', path(spare.applicationId));
    }
    for (const id of [unknownId, 'x', '%00']) await refused(api, [404, 'not_found'], owner, 'POST', path(id));
  });
});
