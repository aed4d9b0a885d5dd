import { expect } from 'chai';
import { createSecret, sha256, unseal } from '../../../lib/store/seal.ts';
import { makeChannel, unknownId } from '../../harness/factories.ts';
import { inParallel, send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';
import { useWebhooks } from './webhook-fixture.ts';

/** The headers that differ between equal responses. */
const varyingHeaders = new Set(['date', 'x-request-id']);

describe('secrets of webhooks', () => {
  const { api, owner, server, makeWebhook, stored, post: postBy } = useWebhooks();
  const webhook = make(() => makeWebhook(server.general));

  /** Posts to a path under /api/webhooks; returns the response without the headers that differ between equal responses. */
  const post = async (path: string, body = '{"content":"x"}'): Promise<{ status: number; headers: string; text: string }> => {
    const headers = { 'Content-Type': 'application/json', 'X-GitHub-Event': 'push', 'X-Request-Id': 'asked' };
    const response = await fetch(`${api.url}/api/webhooks/${path}`, { method: 'POST', headers, body });
    const shown = [...response.headers].filter(([name]) => !varyingHeaders.has(name)).map(([name, value]) => `${name}: ${value}`);
    return { status: response.status, headers: shown.sort().join('\n'), text: await response.text() };
  };

  it('the token is stored encrypted with APP_KEY and as a hash', async () => {
    const doc = await stored(webhook.id);
    expect(unseal(api.platform.config, String(doc?.token))).to.equal(webhook.token);
    expect(doc?.tokenHash).to.equal(sha256(webhook.token));
    expect(JSON.stringify(doc)).not.to.contain(webhook.token);
    expect((await makeWebhook()).token).not.to.equal(webhook.token);
  });

  for (const tail of ['', '/codehost'])
    it(`every wrong pair of id and token has the same 404${tail && ` at ${tail}`}, byte for byte`, async () => {
      const other = await makeWebhook();
      const gone = await makeWebhook();
      await send(api, 204, owner, 'DELETE', `/api/webhooks/${gone.id}`);
      const { id: lostChannel } = await makeChannel(api, owner, server.id);
      const lost = await makeWebhook(lostChannel);
      await send(api, 204, owner, 'DELETE', `/api/channels/${lostChannel}`);
      const { id, token } = webhook;
      const pairs = [
        [id, createSecret()],
        [id, other.token],
        [id, token.slice(0, -1)],
        [id, `${token}x`],
        [id, token.toUpperCase()],
        [id, sha256(token)],
        [id, (await stored(id))?.token as string],
        [id, '%00'],
        [unknownId, token],
        ['nope', token],
        ['%24ne', token],
        [gone.id, gone.token],
        ...(tail ? [] : [[lost.id, lost.token]]), // its code host deliveries are deleted with it
        [lost.id, createSecret()],
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

  it('no error response contains the token of its path', async () => {
    const { id, token } = webhook;
    const answers = [
      ...(await Promise.all(
        ['{', '[]', '{}', '{"content":5}', '""', JSON.stringify({ content: 'x'.repeat(2001) })].map((body) => post(`${id}/${token}`, body)),
      )),
      ...(await inParallel(7, () => post(`${id}/${token}`))),
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

  it('a message of a webhook contains neither token nor URL', async () => {
    const message = await postBy(await makeWebhook());
    expect(JSON.stringify(message)).not.to.match(/token|\/api\/webhooks/);
  });
});
