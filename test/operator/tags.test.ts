import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { Message } from '../../lib/contract/message.ts';
import { grantEarlyAccess, grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import { ensureSystemAccount } from '../../lib/domain/system-account.ts';
import { openOperatorPlatform, type Platform } from '../../lib/store/platform.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Bot, makeBot, makeMember, makePerson, makeServer, type Place } from '../harness/factories.ts';
import { type Caller, send } from '../harness/requests.ts';
import { seedServer } from '../harness/seed.ts';
import { codeOf, unknownIds } from './refusals.ts';

describe('grantTag, verifyBot and grantEarlyAccess', () => {
  let api: TestApi;
  let operator: Platform;
  let owner: Caller;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    operator = await openOperatorPlatform(api.platform.config, createLog('operator', 'error'));
    owner = await makePerson(api);
    server = await makeServer(api, owner);
  });
  after(() => Promise.all([operator.close(), api.close()]));

  const account = (id: string) => api.platform.db.accounts.findOne({ _id: id });
  /** The tag that others see on the messages of `author`. */
  async function shownTag(author: Caller): Promise<string | undefined> {
    const messages = await send<Message[]>(api, 200, owner, 'GET', `/api/channels/${server.general}/messages`);
    const own = messages.find((one) => one.author.id === author.id);
    if (!own) throw new Error('no message of this author');
    return own.author.tag;
  }
  const post = (as: Caller): Promise<unknown> => send(api, 201, as, 'POST', `/api/channels/${server.general}/messages`, { content: 'hi' });

  let person: Caller;
  let bot: Bot;
  beforeEach(async () => {
    person = await makeMember(api, owner, server.id);
    bot = await makeBot(api, owner, server.id);
  });

  it('shows the tag official of a person with the next request, and removes it again', async () => {
    await post(person);
    expect(await shownTag(person)).to.equal(undefined);
    expect(await grantTag(operator, person.id, 'official')).to.deep.equal({
      id: person.id,
      name: person.username,
      before: null,
      after: 'official',
    });
    expect(await shownTag(person)).to.equal('official');
    expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: 'official' });
    await post(person);
    expect(await shownTag(person)).to.equal('official');
    expect(await grantTag(operator, person.id, 'official')).to.include({ before: 'official', after: 'official' });
    expect(await grantTag(operator, person.id, 'none')).to.include({ before: 'official', after: null });
    expect(await shownTag(person)).to.equal(undefined);
    expect(await grantTag(operator, person.id, 'none')).to.include({ before: null, after: null });
  });

  it('shows the tag verified_bot of a bot in messages and in its application, and removes it with undo', async () => {
    await post(bot);
    const shown = async () =>
      (await send<{ bot: { tag: string } }>(api, 200, owner, 'GET', `/api/applications/${bot.applicationId}`)).bot.tag;
    expect([await shownTag(bot), await shown()]).to.deep.equal(['bot', 'bot']);
    const granted = await verifyBot(operator, bot.applicationId);
    expect(granted).to.deep.equal({ id: bot.id, name: bot.username, before: 'bot', after: 'verified_bot' });
    expect([await shownTag(bot), await shown()]).to.deep.equal(['verified_bot', 'verified_bot']);
    expect(await verifyBot(operator, bot.applicationId)).to.include({ before: 'verified_bot', after: 'verified_bot' });
    expect(await verifyBot(operator, bot.applicationId, { undo: true })).to.include({ before: 'verified_bot', after: 'bot' });
    expect([await shownTag(bot), await shown()]).to.deep.equal(['bot', 'bot']);
    expect(await verifyBot(operator, bot.applicationId, { undo: true })).to.include({ before: 'bot', after: 'bot' });
  });

  it('finds the bot by the id of its application', async () => {
    const [target] = (await seedServer(api.platform, { bots: 1, channels: 1 })).bots;
    expect(await verifyBot(operator, target?.applicationId ?? '')).to.include({ id: target?.id, after: 'verified_bot' });
    expect((await account(target?.id ?? ''))?.tag).to.equal('verified_bot');
  });

  it('replaces the previous tag; each command removes only its own tag', async () => {
    await verifyBot(operator, bot.applicationId);
    expect(await grantTag(operator, bot.id, 'none')).to.include({ before: 'verified_bot', after: 'verified_bot' });
    expect(await grantTag(operator, bot.id, 'official')).to.include({ before: 'verified_bot', after: 'official' });
    expect(await verifyBot(operator, bot.applicationId, { undo: true })).to.include({ before: 'official', after: 'official' });
    expect((await account(bot.id))?.tag).to.equal('official');
    expect(await verifyBot(operator, bot.applicationId)).to.include({ before: 'official', after: 'verified_bot' });
    expect((await account(bot.id))?.tag).to.equal('verified_bot');
  });

  it('refuses to change the system account', async () => {
    const { _id } = await ensureSystemAccount(operator);
    for (const tag of ['official', 'none'] as const) expect(await codeOf(grantTag(operator, _id, tag))).to.equal('invalid_request');
    expect(await codeOf(grantEarlyAccess(operator, _id))).to.equal('invalid_request');
    expect(await account(_id))
      .to.include({ tag: 'system' })
      .and.not.have.property('earlyAccess');
  });

  it('keeps the tag when the application is renamed', async () => {
    await verifyBot(operator, bot.applicationId);
    await send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name: 'renamed' });
    expect(await account(bot.id)).to.include({ tag: 'verified_bot', username: 'renamed' });
  });

  it('refuses the bot of a deleted application with not_found', async () => {
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    expect(await codeOf(verifyBot(operator, bot.applicationId))).to.equal('not_found');
    expect(await codeOf(grantTag(operator, bot.id, 'official'))).to.equal('not_found');
    expect(await account(bot.id)).to.equal(null);
  });

  it('grants and removes early access for people, and refuses it for bots', async () => {
    expect(await grantEarlyAccess(operator, person.id)).to.deep.equal({
      id: person.id,
      name: person.username,
      before: false,
      after: true,
    });
    expect((await account(person.id))?.earlyAccess).to.equal(true);
    expect(await grantEarlyAccess(operator, person.id)).to.include({ before: true, after: true });
    expect(await grantEarlyAccess(operator, person.id, { undo: true })).to.include({ before: true, after: false });
    expect((await account(person.id))?.earlyAccess).to.equal(false);
    expect(await codeOf(grantEarlyAccess(operator, bot.id))).to.equal('invalid_request');
  });

  for (const id of unknownIds)
    it(`refuses the id ${JSON.stringify(id)} with not_found`, async () => {
      const before = await api.platform.db.accounts.find().sort({ _id: 1 }).toArray();
      const attempts = [
        grantTag(operator, id, 'official'),
        grantTag(operator, id, 'none'),
        verifyBot(operator, id),
        grantEarlyAccess(operator, id),
      ];
      expect(await Promise.all(attempts.map(codeOf))).to.deep.equal(attempts.map(() => 'not_found'));
      expect(await api.platform.db.accounts.find().sort({ _id: 1 }).toArray()).to.deep.equal(before);
    });
});
