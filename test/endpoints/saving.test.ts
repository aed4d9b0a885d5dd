import { expect } from 'chai';
import type { Application } from '../../lib/contract/application.ts';
import type { Answer } from '../harness/api.ts';
import { expectError } from '../harness/expect-error.ts';
import type { Bot } from '../harness/factories.ts';
import { send } from '../harness/requests.ts';
import { type BadEndpoint, useBadEndpoints } from './bad-endpoints.ts';

const keptUrl = 'https://kept.example/interactions';

const toHostPort = (url: string): string => {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
};

describe('PATCH /api/applications/{applicationId} with an interactionsEndpointUrl', () => {
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

  const { api, endpoints, owner, spare, checkAll } = useBadEndpoints(expectRefused);

  it('answers 400 endpoint_unverified with the failed step for every bad endpoint, and saves nothing of the PATCH', async () => {
    expect(await checkAll()).to.deep.equal([]);
    expect(endpoints.bad.length).to.be.greaterThan(70);
    expect(new Set(endpoints.bad.map(({ step }) => step)).size).to.equal(6);
    expect(endpoints.forbiddenConnections()).to.equal(0);
  });

  it('answers 200 for an endpoint that passes, and saves everything else in the PATCH', async () => {
    const body = { name: 'other', description: 'new', public: true, inDirectory: true, interactionsEndpointUrl: endpoints.good };
    const saved = await send<Application>(api, 200, owner, 'PATCH', `/api/applications/${spare.applicationId}`, body);
    expect(saved).to.deep.include(body);
    expect(await send(api, 200, owner, 'GET', `/api/applications/${spare.applicationId}`)).to.deep.equal(saved);
  });
});
