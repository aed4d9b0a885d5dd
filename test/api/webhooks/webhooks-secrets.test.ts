import { expect } from 'chai';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { newSecret, sha256, unseal } from '../../../lib/store/seal.ts';
import { makeChannel, send } from '../../harness/factories.ts';
import { type WebhookFixture, webhookFixture } from './webhook-fixture.ts';

/** Headers that differ from answer to answer. */
const ownHeaders = new Set(['date', 'x-request-id']);

describe('secrets of webhooks', () => {
  let fixture: WebhookFixture;
  let { api, owner, server, make, stored }: WebhookFixture = {} as never;
  let webhook: NewWebhook;

  before(async () => {
    fixture = await webhookFixture();
    ({ api, owner, server, make, stored } = fixture);
    webhook = await make();
  });
  after(() => api.close());

  /** Posts to a path under /api/webhooks, and answers all but what is each request's own. */
  const post = async (path: string, body = '{"content":"x"}'): Promise<{ status: number; headers: string; text: string }> => {
    const headers = { 'Content-Type': 'application/json', 'X-GitHub-Event': 'push', 'X-Request-Id': 'asked' };
    const response = await fetch(`${api.url}/api/webhooks/${path}`, { method: 'POST', headers, body });
    const told = [...response.headers].filter(([name]) => !ownHeaders.has(name)).map(([name, value]) => `${name}: ${value}`);
    return { status: response.status, headers: told.sort().join('\n'), text: await response.text() };
  };

  it('the token is encrypted at rest under APP_KEY, differently each time, and stands besides as a hash', async () => {
    const doc = await stored(webhook.id);
    expect(unseal(api.platform.config, String(doc?.token))).to.equal(webhook.token);
    expect(doc?.tokenHash).to.equal(sha256(webhook.token));
    expect(JSON.stringify(doc)).not.to.contain(webhook.token);
    expect((await make()).token).not.to.equal(webhook.token);
  });

  for (const tail of ['', '/codehost'])
    it(`404 is alike, byte for byte, for every wrong pair of id and token${tail && ` at ${tail}`}`, async () => {
      const other = await make();
      const gone = await make();
      await send(api, 204, owner, 'DELETE', `/api/webhooks/${gone.id}`);
      const { id: lostChannel } = await makeChannel(api, owner, server.id);
      const lost = await make(lostChannel);
      await send(api, 204, owner, 'DELETE', `/api/channels/${lostChannel}`);
      const { id, token } = webhook;
      const pairs = [
        [id, newSecret()],
        [id, other.token],
        [id, token.slice(0, -1)],
        [id, `${token}x`],
        [id, token.toUpperCase()],
        [id, sha256(token)],
        [id, (await stored(id))?.token as string],
        [id, '%00'],
        ['1000000000000000001', token],
        ['nope', token],
        ['%24ne', token],
        [gone.id, gone.token],
        ...(tail ? [] : [[lost.id, lost.token]]), // its deliveries go with it
        [lost.id, newSecret()],
      ];
      const answers = [];
      for (const pair of pairs) {
        const answer = await post(`${pair.join('/')}${tail}`);
        expect(answer.status, pair.join('/')).to.equal(404);
        for (const secret of [...pair, token]) expect(answer.text + answer.headers).not.to.contain(secret);
        answers.push(answer);
      }
      expect([...new Set(answers.map((one) => JSON.stringify(one)))]).to.have.length(1);
    });

  it('no refusal tells the token of its path', async () => {
    const { id, token } = webhook;
    const answers = [
      ...(await Promise.all(
        ['{', '[]', '{}', '{"content":5}', '""', JSON.stringify({ content: 'x'.repeat(2001) })].map((body) => post(`${id}/${token}`, body)),
      )),
      ...(await Promise.all(Array.from({ length: 7 }, () => post(`${id}/${token}`)))),
      await post(`${id}/${token}/nowhere`),
      await post(`${id}/${token}/`),
    ];
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      const response = await fetch(`${api.url}/api/webhooks/${id}/${token}`, { method });
      answers.push({ status: response.status, headers: JSON.stringify([...response.headers]), text: await response.text() });
    }
    const refused = answers.filter(({ status }) => status >= 400);
    expect(refused.map(({ status }) => status)).to.include.members([400, 404, 405, 429]);
    for (const { text, headers } of refused) expect(text + headers).not.to.contain(token);
  });

  it('what a webhook posts tells neither token nor URL', async () => {
    const message = await fixture.say(await make());
    expect(JSON.stringify(message)).not.to.match(/token|\/api\/webhooks/);
  });
});
