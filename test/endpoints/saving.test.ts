import { expect } from 'chai';
import type { Application } from '../../lib/contract/application.ts';
import type { EndpointTest } from '../../lib/contract/endpoint.ts';
import { type Answer, startTestApi } from '../harness/api.ts';
import { expectError } from '../harness/expect-error.ts';
import { type Bot, makeApplication, makePerson } from '../harness/factories.ts';
import { refused, send } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { type BadEndpoint, startBadEndpoints } from './bad-endpoints.ts';

const keptUrl = 'https://kept.example/interactions';
const order = ['url', 'dns', 'connect', 'tls', 'status', 'body'];

const toHostPort = (url: string): string => {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
};

describe('saving and testing an interactionsEndpointUrl', () => {
  /** The checks that take 3 seconds. They run in parallel from the start, each with an application of its own. */
  const slow = new Map<BadEndpoint, Promise<void>>();
  after(() => Promise.allSettled(slow.values()));
  const api = use(startTestApi);
  const endpoints = use(startBadEndpoints);
  const owner = make(() => makePerson(api));
  const spare = make(() => makeApplication(api, owner));
  before(() => {
    Object.assign(api.platform, { outbound: endpoints.outbound });
    for (const bad of endpoints.bad.filter(({ hangs }) => hangs)) {
      const run = makeApplication(api, owner).then((bot) => check(bad, bot));
      run.catch(() => undefined);
      slow.set(bad, run);
    }
  });

  /** Sends a PATCH with a bad URL and all other fields, and expects that nothing is saved. */
  const expectRefused = async ({ url, step, status }: BadEndpoint, bot: Bot): Promise<void> => {
    const path = `/api/applications/${bot.applicationId}`;
    const { applications, accounts } = api.platform.db;
    await applications.updateOne({ _id: bot.applicationId }, { $set: { interactionsEndpointUrl: keptUrl } });
    const stored = async () => [await applications.findOne({ _id: bot.applicationId }), await accounts.findOne({ _id: bot.id })];
    const before = await stored();
    const body = { name: 'other', description: 'other', public: true, inDirectory: true, interactionsEndpointUrl: url };
    const answer: Answer = await api.call('PATCH', path, { as: owner.as, body });
    expectError(answer, 400, 'endpoint_unverified');
    const [error, ...more] = answer.body.errors as { path: string; message: string; step: string; status: number | null; ms: number }[];
    expect(more).to.have.length(0);
    expect(error).to.have.all.keys('path', 'message', 'step', 'status', 'ms');
    expect(error).to.deep.include({ path: '/interactionsEndpointUrl', step, status });
    expect(error?.ms).to.be.at.least(0).and.satisfy(Number.isInteger);
    // Only the host and the port that the caller typed are named.
    const [hint, pair] = error?.message.match(/OUTBOUND_ALLOW=(\S+)/) ?? [];
    if (pair) expect(toHostPort(url)).to.equal(pair);
    expect(error?.message.replace(hint ?? '', ''))
      .to.include(`\`${step}\``)
      .and.include(`${error?.ms} ms`)
      .and.not.match(/127\.0\.0\.1|::1/);
    expect(await stored()).to.deep.equal(before);
  };

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
  const check = async (bad: BadEndpoint, bot: Bot): Promise<void> => {
    await expectRefused(bad, bot);
    await expectFailure(bad, bot);
  };

  it('every bad endpoint: a save answers 400 endpoint_unverified and saves nothing, a test answers 200 with the failed step', async () => {
    const faults: string[] = [];
    for (const bad of endpoints.bad)
      await (slow.get(bad) ?? check(bad, spare)).catch((error: Error) => faults.push(`${bad.what}: ${error.message}`));
    expect(faults).to.deep.equal([]);
    expect(endpoints.bad.length).to.be.greaterThan(70);
    expect(new Set(endpoints.bad.map(({ step }) => step)).size).to.equal(6);
    expect(endpoints.forbiddenConnections()).to.equal(0);
  });

  it('a save answers 200 for an endpoint that passes, and saves everything else in the PATCH', async () => {
    const body = { name: 'other', description: 'new', public: true, inDirectory: true, interactionsEndpointUrl: endpoints.good };
    const saved = await send<Application>(api, 200, owner, 'PATCH', `/api/applications/${spare.applicationId}`, body);
    expect(saved).to.deep.include(body);
    expect(await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}`)).to.deep.equal(saved);
  });

  it('a test answers 200 with ok: true and all six steps for an endpoint that passes', async () => {
    const { steps, ms, ...rest } = await test(spare, endpoints.good);
    expect(rest).to.deep.equal({ ok: true, status: 200, step: null, reason: null });
    expect(steps.map(({ step, ok }) => [step, ok])).to.deep.equal(order.map((step) => [step, true]));
    expect(ms).to.be.at.least(Math.max(...steps.map((one) => one.ms)) - 1);
  });

  it('a test keeps the saved URL and logs no delivery, whatever the result', async () => {
    for (const url of [endpoints.good, 'https://unknown.example/']) {
      await test(spare, url);
      expect(await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}`)).to.include({ interactionsEndpointUrl: url });
    }
    const log = await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}/deliveries`);
    expect(log).to.deep.equal({ items: [], hasMore: false });
    expect(await api.platform.db.interactions.countDocuments({})).to.equal(0);
  });

  it('a test answers 403 not_owner to another person also when a URL is saved', async () => {
    await storeUrl(spare, endpoints.good);
    await refused(api, [403, 'not_owner'], await makePerson(api), 'POST', path(spare.applicationId));
  });
});
