import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { ConfigurationError } from '../../lib/base/process.ts';
import type { Application } from '../../lib/contract/application.ts';
import type { NewWebhook, Webhook } from '../../lib/contract/webhook.ts';
import { rotateKey } from '../../lib/domain/key-rotation.ts';
import { parseProxyPath, toImageUrl } from '../../lib/domain/views/image-links.ts';
import { openOperatorPlatform } from '../../lib/store/platform.ts';
import { deriveInteractionToken, deriveKeyId, seal, sha256 } from '../../lib/store/seal.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Bot, makeApplication, makePerson, makeServer, type Place } from '../harness/factories.ts';
import { type Caller, send } from '../harness/requests.ts';
import { runHere } from './run-here.ts';

const newKey = (): string => randomBytes(32).toString('base64');
const toBytes = (key: string): Buffer => Buffer.from(key, 'base64');

describe('Replacing APP_KEY', () => {
  let first: TestApi;
  let owner: Caller;
  let server: Place;
  let bot: Bot;
  let webhook: NewWebhook;
  const oldKey = newKey();
  const APP_KEY = newKey();

  before(async () => {
    first = await startTestApi({ APP_KEY: oldKey });
    owner = await makePerson(first);
    server = await makeServer(first, owner);
    bot = await makeApplication(first, owner);
    webhook = await send(first, 201, owner, 'POST', `/api/channels/${server.general}/webhooks`, { name: 'hook' });
  });
  after(() => first.close());

  /** Starts another API on the same stores with these keys. */
  const startWith = (keys: Record<string, string>): Promise<TestApi> => {
    const { MONGODB_URL, REDIS_PREFIX } = first.platform.config;
    return startTestApi({ MONGODB_URL, REDIS_PREFIX, ...keys });
  };
  const webhooks = (api: TestApi): Promise<Webhook[]> => send(api, 200, owner, 'GET', `/api/channels/${server.general}/webhooks`);
  const storedKeyIds = async (): Promise<string[] | undefined> => (await first.platform.db.meta.findOne({}))?.keys;
  const expectRefusedStart = async (keys: Record<string, string>): Promise<void> => {
    const error = await startWith(keys).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(ConfigurationError);
  };

  it('refuses to start with another key, even if the database has no stored key id', async () => {
    await expectRefusedStart({ APP_KEY });
    await first.platform.db.meta.deleteMany({});
    await expectRefusedStart({ APP_KEY });
    await expectRefusedStart({ APP_KEY, APP_KEYS_OLD: newKey() });
    await (await startWith({ APP_KEY: oldKey })).close();
    expect(await storedKeyIds()).to.deep.equal([deriveKeyId(toBytes(oldKey))]);
  });

  it('ends the operator command line with 78 and one line', async () => {
    const { exitCode, text } = await runHere(['rotate-key'], { ...first.platform.config, APP_KEY: toBytes(APP_KEY) });
    expect(exitCode).to.equal(78);
    expect(text).to.match(/^APP_KEY is not the key of this database\. [^\n]+$/);
  });

  it('reads secrets and accepts links and tokens of the old key while it is in APP_KEYS_OLD', async () => {
    const api = await startWith({ APP_KEY, APP_KEYS_OLD: oldKey });
    expect(await webhooks(api)).to.deep.equal([webhook]);
    const path = new URL(toImageUrl(first.platform.config, 'https://example.org/a.png')).pathname;
    expect(parseProxyPath(api.platform.config, path)).to.equal('https://example.org/a.png');
    const id = api.platform.ids.next();
    const created = { state: 'created', createdAt: new Date(), openedAt: null, messageId: null, endpoint: false, deliveredAt: null };
    const use = { applicationId: bot.applicationId, botId: bot.id, channelId: server.general, serverId: server.id, userId: owner.id };
    const command = { command: { id: '1', name: 'x' }, options: [], userRoles: [], ephemeral: false };
    await api.platform.db.interactions.insertOne({ _id: id, ...use, ...command, ...created } as never);
    const follow = (token: string) => api.call('POST', `/api/interactions/${id}/${token}/followup`, { body: { content: 'x' } });
    const tokenUnder = (key: string): string => deriveInteractionToken(toBytes(key), id);
    for (const key of [oldKey, APP_KEY]) expect((await follow(tokenUnder(key))).body).to.include({ code: 'not_answered' });
    expect((await follow(tokenUnder(newKey()))).status).to.equal(404);
    await api.close();
    // A process with only the old key could not read secrets that are encrypted with the new key.
    await expectRefusedStart({ APP_KEY: oldKey });
  });

  it('rotate-key re-encrypts all secrets with the current key once, after which the old key is not needed', async () => {
    const { db, config } = first.platform;
    await db.webhooks.updateOne({ _id: webhook.id }, [
      { $set: { token: { $last: { $split: ['$token', '.'] } } } }, // as earlier versions stored it, without a key id
    ]);
    const kept = { status: 201, body: seal(config.APP_KEY, '{}'), sealed: true };
    const claim = { bodyHash: '', resourceId: '1', holder: '1', claimedAt: new Date(), expiresAt: new Date(Date.now() + 60_000) };
    await db.idempotency.insertOne({ _id: sha256('x'), ...claim, answer: kept });
    const both = { ...config, APP_KEY: toBytes(APP_KEY), APP_KEYS_OLD: [toBytes(oldKey)] };
    const { exitCode, text, lines } = await runHere(['rotate-key'], both);
    expect([exitCode, lines[0]]).to.deep.equal([0, 'signing secret of application: 1 checked, 1 re-encrypted with APP_KEY']);
    expect(text).to.match(/^3 secrets re-encrypted with APP_KEY\./);
    const again = await runHere(['rotate-key'], both);
    expect(again.json).to.deep.equal({ ok: true, command: 'rotate-key', changed: false, encrypted: 0, undecryptable: [] });
    expect(await storedKeyIds()).to.deep.equal([deriveKeyId(toBytes(APP_KEY))]);
    await expectRefusedStart({ APP_KEY: oldKey });
    const api = await startWith({ APP_KEY });
    expect(await webhooks(api)).to.deep.equal([webhook]);
    const { signingSecret } = await send<Application>(api, 200, owner, 'GET', `/api/applications/${bot.applicationId}`);
    expect(signingSecret).to.equal(bot.signingSecret);
    await api.close();
  });

  it('rotate-key continues where an interrupted run stopped', async () => {
    const config = { ...first.platform.config, APP_KEY: toBytes(APP_KEY), APP_KEYS_OLD: [toBytes(oldKey)] };
    const platform = await openOperatorPlatform(config, createLog('operator', 'silent'));
    const { webhooks: collection } = platform.db;
    const sealOld = () => seal(config.APP_KEYS_OLD[0] as Buffer, 'secret');
    const many = Array.from({ length: 450 }, (_, at) => ({ _id: `rotate-${at}`, channelId: `rotate-${at}`, slot: 0, token: sealOld() }));
    await collection.insertMany(many as never);
    let batches = 0;
    const stopped = await rotateKey(platform, () => {
      batches++;
      if (batches === 3) throw new Error('interrupted');
    }).catch((error: Error) => error.message);
    expect(stopped).to.equal('interrupted');
    const left = await rotateKey(platform, () => undefined);
    expect(left.encrypted).to.be.within(1, 250);
    await collection.deleteMany({ channelId: /^rotate-/ });
    await platform.close();
  });

  describe('secrets that no key decrypts', () => {
    let api: TestApi;
    before(async () => {
      api = await startWith({ APP_KEY });
      const lost = seal(randomBytes(32), 'lost');
      await api.platform.db.webhooks.updateMany({}, { $set: { token: lost } });
      await api.platform.db.applications.updateMany({}, { $set: { signingSecret: lost } });
    });
    after(() => api.close());

    it('show a webhook without token and URL until POST /api/webhooks/{webhookId}/token; it can still be renamed and used', async () => {
      const nulls = { ...webhook, token: null, url: null };
      expect(await webhooks(api)).to.deep.equal([nulls]);
      expect(await send(api, 200, owner, 'PATCH', `/api/webhooks/${webhook.id}`, { name: 'hook' })).to.deep.equal(nulls);
      const post = (token: string | null, status: number) =>
        send(api, status, null, 'POST', `/api/webhooks/${webhook.id}/${token}`, { content: 'x' });
      await post(webhook.token, 201);
      const reset = await send<NewWebhook>(api, 200, owner, 'POST', `/api/webhooks/${webhook.id}/token`);
      expect(await webhooks(api)).to.deep.equal([reset]);
      await post(webhook.token, 404);
      await post(reset.token, 201);
    });

    it('show a signing secret as null and refuse pings with 409 secret_unreadable until it is reset', async () => {
      const path = `/api/applications/${bot.applicationId}`;
      expect(await send(api, 200, owner, 'PATCH', path, { description: 'new' })).to.include({ signingSecret: null });
      const saved = await api.call('PATCH', path, { as: owner.as, body: { interactionsEndpointUrl: 'https://example.org/' } });
      expect([saved.status, saved.body.code]).to.deep.equal([409, 'secret_unreadable']);
      const { signingSecret } = await send<{ signingSecret: string }>(api, 200, owner, 'POST', `${path}/signing-secret`);
      expect(await send(api, 200, owner, 'GET', path)).to.include({ signingSecret });
    });

    it('lose the stored response of an Idempotency-Key: a repeated request runs again for the same resource', async () => {
      const create = () =>
        api.call<Application & { token: string }>('POST', '/api/applications', {
          as: owner.as,
          body: { name: 'again' },
          headers: { 'Idempotency-Key': 'lost' },
        });
      const made = await create();
      const lost = { 'answer.body': seal(randomBytes(32), 'lost') };
      await api.platform.db.idempotency.updateMany({ resourceId: made.body.id }, { $set: lost });
      const again = await create();
      expect([made.status, again.status, again.body.id]).to.deep.equal([201, 201, made.body.id]);
    });

    it('are listed by rotate-key', async () => {
      await api.platform.db.webhooks.updateOne({ _id: webhook.id }, { $set: { token: seal(randomBytes(32), 'lost') } });
      const { undecryptable } = await rotateKey(api.platform, () => undefined);
      expect(undecryptable).to.deep.include({ what: 'token of webhook', id: webhook.id });
    });
  });
});
