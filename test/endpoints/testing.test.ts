import { expect } from 'chai';
import type { EndpointTest } from '../../lib/contract/endpoint.ts';
import { startTestApi } from '../harness/api.ts';
import { reply, startEndpoint } from '../harness/endpoint.ts';
import { type Bot, makeApplication, makePerson, unknownId } from '../harness/factories.ts';
import { refused, send } from '../harness/requests.ts';
import { type BadEndpoint, useBadEndpoints } from './bad-endpoints.ts';

const order = ['url', 'dns', 'connect', 'tls', 'status', 'body'];

describe('POST /api/applications/{applicationId}/interactions-endpoint/test', () => {
  const path = (id: string): string => `/api/applications/${id}/interactions-endpoint/test`;

  /** Stores `url` without a ping, for a URL that would not pass it. */
  const storeUrl = async (bot: Bot, url: string): Promise<void> => {
    await api.platform.db.applications.updateOne({ _id: bot.applicationId }, { $set: { interactionsEndpointUrl: url } });
  };
  const test = async (bot: Bot, url: string): Promise<EndpointTest> => {
    await storeUrl(bot, url);
    const result = await send<EndpointTest>(api, 200, owner, 'POST', path(bot.applicationId));
    expect(result).to.have.all.keys('ok', 'status', 'ms', 'step', 'reason', 'steps');
    for (const { ms } of [result, ...result.steps]) expect(ms).to.be.at.least(0).and.satisfy(Number.isInteger);
    return result;
  };
  const expectFailure = async ({ url, step, status }: BadEndpoint, bot: Bot): Promise<void> => {
    const { steps, reason, ...rest } = await test(bot, url);
    expect(rest).to.deep.include({ ok: false, step, status });
    expect(reason).to.match(/\w/);
    // Only the setting that would allow the typed URL names an address.
    expect(reason?.replace(/OUTBOUND_ALLOW=.*/, '')).to.not.match(/127\.0\.0\.1|::1/);
    // Every step up to the failed one, in order. Over plain http there is no TLS step.
    const reached = order.slice(0, order.indexOf(step) + 1).filter((one) => one !== 'tls' || !url.startsWith('http:'));
    expect(steps.map((one) => [one.step, one.ok])).to.deep.equal(reached.map((one) => [one, one !== step]));
  };

  const { api, endpoints, owner, spare, checkAll } = useBadEndpoints(expectFailure);

  it('answers 200 with ok: true and all six steps for an endpoint that passes', async () => {
    const { steps, ms, ...rest } = await test(spare, endpoints.good);
    expect(rest).to.deep.equal({ ok: true, status: 200, step: null, reason: null });
    expect(steps.map(({ step, ok }) => [step, ok])).to.deep.equal(order.map((step) => [step, true]));
    expect(ms).to.be.at.least(Math.max(...steps.map((one) => one.ms)) - 1);
  });

  it('answers 200 with the failed step, its reason and the steps up to it for every bad endpoint', async () => {
    expect(await checkAll()).to.deep.equal([]);
    expect(endpoints.forbiddenConnections()).to.equal(0);
  });

  it('keeps the saved URL and logs no delivery, whatever the result', async () => {
    for (const url of [endpoints.good, 'https://unknown.example/']) {
      await test(spare, url);
      expect(await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}`)).to.include({ interactionsEndpointUrl: url });
    }
    const log = await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}/deliveries`);
    expect(log).to.deep.equal({ items: [], hasMore: false });
    expect(await api.platform.db.interactions.countDocuments({})).to.equal(0);
  });

  it('sends exactly one request: a ping', async () => {
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

  it('answers 400 invalid_request when no URL is saved', async () => {
    const bot = await makeApplication(api, owner);
    await refused(api, [400, 'invalid_request'], owner, 'POST', path(bot.applicationId));
  });

  it('answers 403 not_owner, 403 bots_not_allowed, 404 and 401, with and without a URL', async () => {
    const other = await makePerson(api);
    for (const url of [null, endpoints.good]) {
      await storeUrl(spare, url as string);
      await refused(api, [403, 'not_owner'], other, 'POST', path(spare.applicationId));
      await refused(api, [403, 'bots_not_allowed'], spare, 'POST', path(spare.applicationId));
      await refused(api, [401, 'unauthorized'], null, 'POST', path(spare.applicationId));
    }
    for (const id of [unknownId, 'x', '%00']) await refused(api, [404, 'not_found'], owner, 'POST', path(id));
  });
});
