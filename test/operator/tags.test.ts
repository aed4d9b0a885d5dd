import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { Message } from '../../lib/contract/message.ts';
import { ensureSystemAccount } from '../../lib/domain/accounts/system-account.ts';
import { grantEarlyAccess, grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import { openOperatorPlatform, type Platform } from '../../lib/store/platform.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Bot, type Caller, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { makeWorld } from '../harness/world.ts';
import { codeOf, hostileIds } from './refusals.ts';

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

  const account = async (id: string) => await api.platform.db.accounts.findOne({ _id: id }).lean();
  /** The tag that the messages of `author` show to others now. */
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

  it('a person: author and own account show official with the next request, and none after it was taken away', async () => {
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

  it('a bot: verified_bot shows in messages and in its application, and bot after --undo', async () => {
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

  it('the bot is found by its application, whatever the ids', async () => {
    const [made] = (await makeWorld(api.platform, { bots: 1, channels: 1 })).bots;
    expect(await verifyBot(operator, made?.applicationId ?? '')).to.include({ id: made?.id, after: 'verified_bot' });
    expect((await account(made?.id ?? ''))?.tag).to.equal('verified_bot');
  });

  it('the last tag replaces the one before, and each command takes away its own alone', async () => {
    await verifyBot(operator, bot.applicationId);
    expect(await grantTag(operator, bot.id, 'none')).to.include({ before: 'verified_bot', after: 'verified_bot' });
    expect(await grantTag(operator, bot.id, 'official')).to.include({ before: 'verified_bot', after: 'official' });
    expect(await verifyBot(operator, bot.applicationId, { undo: true })).to.include({ before: 'official', after: 'official' });
    expect((await account(bot.id))?.tag).to.equal('official');
    expect(await verifyBot(operator, bot.applicationId)).to.include({ before: 'official', after: 'verified_bot' });
    expect((await account(bot.id))?.tag).to.equal('verified_bot');
  });

  it('the account of the platform keeps its tag', async () => {
    const { _id } = await ensureSystemAccount(operator);
    for (const tag of ['official', 'none'] as const) expect(await codeOf(grantTag(operator, _id, tag))).to.equal('invalid_request');
    expect(await codeOf(grantEarlyAccess(operator, _id))).to.equal('invalid_request');
    expect(await account(_id))
      .to.include({ tag: 'system' })
      .and.not.have.property('earlyAccess');
  });

  it('a grant survives a new name of the application', async () => {
    await verifyBot(operator, bot.applicationId);
    await send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name: 'renamed' });
    expect(await account(bot.id)).to.include({ tag: 'verified_bot', username: 'renamed' });
  });

  it('404 for the bot of a deleted application', async () => {
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    expect(await codeOf(verifyBot(operator, bot.applicationId))).to.equal('not_found');
    expect(await codeOf(grantTag(operator, bot.id, 'official'))).to.equal('not_found');
    expect(await account(bot.id)).to.equal(null);
  });

  it('early access: noted for people, taken back, and refused for bots', async () => {
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

  for (const id of hostileIds)
    it(`404 for ${JSON.stringify(id)}`, async () => {
      const before = await api.platform.db.accounts.find().sort({ _id: 1 }).lean();
      const tries = [
        grantTag(operator, id, 'official'),
        grantTag(operator, id, 'none'),
        verifyBot(operator, id),
        grantEarlyAccess(operator, id),
      ];
      expect(await Promise.all(tries.map(codeOf))).to.deep.equal(tries.map(() => 'not_found'));
      expect(await api.platform.db.accounts.find().sort({ _id: 1 }).lean()).to.deep.equal(before);
    });
});
