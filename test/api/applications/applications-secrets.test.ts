import { createDecipheriv } from 'node:crypto';
import { expect } from 'chai';
import type { Application, NewApplication } from '../../../lib/contract/application.ts';
import { deriveInteractionToken, seal, unseal } from '../../../lib/store/seal.ts';
import { Client } from '../../gateway/client.ts';
import { dumpStores } from '../../harness/dumps.ts';
import { reply, startEndpoint } from '../../harness/endpoint.ts';
import { makeApplication, password } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { startParlance } from '../../harness/parlance.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newBot, use, useServer } from '../../harness/use.ts';

describe('applications: secrets and tokens', () => {
  const endpoint = use(() => startEndpoint(reply(200, { type: 'defer' })));
  const start = () => startParlance({ OUTBOUND_ALLOW: endpoint.site.pair });
  const { api: parlance, owner, server, bot } = useServer({ bot: newBot(15) }, { start });
  const newClient = (): Client => new Client(Number(new URL(parlance.gatewayUrl).port));

  it('dumps of the database and Redis contain no secret or token after everything that a bot does', async () => {
    const headers = { 'Idempotency-Key': 'dump' };
    const made = await parlance.call<NewApplication>('POST', '/api/applications', { as: owner.as, body: { name: 'Dumped' }, headers });
    const { id, signingSecret, token: firstToken } = made.body;
    await send(parlance, 201, owner, 'POST', `/api/applications/${id}/authorize`, { serverId: server.id, permissions: 15 });
    const { token } = await send<{ token: string }>(parlance, 200, owner, 'POST', `/api/applications/${id}/token`);
    const rotated = await send<Application>(parlance, 200, owner, 'POST', `/api/applications/${id}/signing-secret`);
    const dumped: Caller = { ...owner, as: `Bot ${token}` };
    const socket = newClient();
    await socket.identify(token);
    const commands = [{ name: 'hello', description: 'x' }];
    const [command] = await send<{ id: string }[]>(parlance, 200, dumped, 'PUT', `/api/applications/${id}/commands`, commands);
    const invoke = `/api/channels/${server.general}/commands/${command?.id}/invoke`;
    const overGateway = await send<{ id: string }>(parlance, 202, owner, 'POST', invoke, {});
    await socket.until(0, 'INTERACTION_CREATE');
    await send(parlance, 200, owner, 'PATCH', `/api/applications/${id}`, { interactionsEndpointUrl: endpoint.url });
    const overHttps = await send<{ id: string }>(parlance, 202, owner, 'POST', invoke, {});
    const { interactions } = parlance.platform.db;
    const isDelivered = async () => (await interactions.findOne({ _id: overHttps.id }))?.delivery?.outcome === 'deferred';
    await waitUntil(isDelivered, 'the delivery');
    const interactionTokens = [overGateway.id, overHttps.id].map((one) => deriveInteractionToken(parlance.platform.config.APP_KEY, one));
    const followup = `/api/interactions/${overHttps.id}/${interactionTokens[1]}/followup`;
    const body = { content: 'done' };
    expect((await parlance.call('POST', followup, { body, headers: { 'Idempotency-Key': 'follow' } })).status).to.equal(201);
    const { database, redis } = await dumpStores(parlance.platform);
    // Other data is in the dumps, so they are complete.
    expect(database).to.include('Dumped').and.include(overHttps.id).and.include(endpoint.url);
    expect(redis).to.include(made.body.bot.id);
    const secrets = { signingSecret, rotated: rotated.signingSecret, firstToken, token, session: owner.token, password };
    for (const [what, secret] of [
      ...Object.entries(secrets),
      ['the token over the gateway', interactionTokens[0]],
      ['the token over HTTPS', interactionTokens[1]],
    ] as const) {
      const bare = String(secret).split('.').at(-1);
      expect(database.includes(String(bare)), `the database contains ${what}`).to.equal(false);
      expect(redis.includes(String(bare)), `Redis contains ${what}`).to.equal(false);
    }
    await socket.cut();
  });

  it('the signing secret is stored with AES-256-GCM under APP_KEY: decrypted here without the code of the project', async () => {
    const stored = (await parlance.platform.db.applications.findOne({ _id: bot.applicationId }))?.signingSecret ?? '';
    const bytes = Buffer.from(stored.split('.')[1] ?? '', 'base64url'); // after the key's id
    const key = parlance.platform.config.APP_KEY;
    expect(key).to.have.length(32);
    const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
    cipher.setAuthTag(bytes.subarray(12, 28));
    expect(Buffer.concat([cipher.update(bytes.subarray(28)), cipher.final()]).toString()).to.equal(bot.signingSecret);
  });

  it('two seals of a secret differ; one that is changed, cut or of another key cannot be read; one without a key id can', () => {
    const key = Buffer.alloc(32, 1);
    const keys = { APP_KEY: key, APP_KEYS_OLD: [] };
    const [one, two] = [seal(key, 'secret'), seal(key, 'secret')];
    expect(one).to.not.equal(two);
    expect([unseal(keys, one), unseal(keys, two)]).to.deep.equal(['secret', 'secret']);
    const [id, text = ''] = one.split('.');
    expect(unseal(keys, text)).to.equal('secret');
    const bytes = Buffer.from(text, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(unseal(keys, `${id}.${changed.toString('base64url')}`), `byte ${at}`).to.equal(null);
      expect(unseal(keys, `${id}.${bytes.subarray(0, at).toString('base64url')}`), `the first ${at} bytes`).to.equal(null);
    }
    const other = Buffer.alloc(32, 2);
    expect(unseal({ APP_KEY: other, APP_KEYS_OLD: [] }, one)).to.equal(null);
    expect(unseal({ APP_KEY: other, APP_KEYS_OLD: [key] }, one)).to.equal('secret');
  });

  it('after 10 concurrent rotations the secret is that of one of the responses', async () => {
    const application = await makeApplication(parlance, owner);
    const path = `/api/applications/${application.applicationId}`;
    const answers = await inParallel(10, () => parlance.call<Application>('POST', `${path}/signing-secret`, { as: owner.as }));
    expect(tally(answers)).to.deep.equal({ 200: 10 });
    const given = answers.map(({ body }) => body.signingSecret);
    expect(new Set([...given, application.signingSecret]).size).to.equal(11);
    expect(given).to.include((await send<Application>(parlance, 200, owner, 'GET', path)).signingSecret);
  });

  it('after a token reset, requests of the old token are 401 and its sockets are closed with 4004; the new token connects', async () => {
    const socket = newClient();
    const { d, s } = await socket.identify(bot.token);
    const { token } = await send<{ token: string }>(parlance, 200, owner, 'POST', `/api/applications/${bot.applicationId}/token`);
    await refused(parlance, [401, 'unauthorized'], bot, 'GET', '/api/auth/me');
    expect(await socket.closed).to.equal(4004);
    const [resumed, identified] = [newClient(), newClient()];
    await resumed.resume(bot.token, d.sessionId, s ?? '');
    expect(await resumed.closed).to.equal(4004);
    await identified.until(10);
    identified.send({ op: 2, d: { token: bot.token } });
    expect(await identified.closed).to.equal(4004);
    await send(parlance, 200, { ...bot, as: `Bot ${token}` }, 'GET', '/api/auth/me');
    const fresh = newClient();
    await fresh.identify(token);
    await fresh.cut();
  });

  it('a token that is reset while its first request is checked is 401 from then on', async () => {
    const application = await makeApplication(parlance, owner);
    interceptNext(parlance.platform, 'preflight', async (real) => {
      await send(parlance, 200, owner, 'POST', `/api/applications/${application.applicationId}/token`);
      return real();
    });
    for (let n = 0; n < 2; n++) await refused(parlance, [401, 'unauthorized'], application, 'GET', '/api/auth/me');
  });
});
