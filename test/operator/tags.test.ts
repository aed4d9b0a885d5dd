import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { Message } from '../../lib/contract/message.ts';
import { grantEarlyAccess, grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import { ensureSystemAccount } from '../../lib/domain/system-account.ts';
import { openOperatorPlatform } from '../../lib/store/platform.ts';
import { makeBot, makeMember } from '../harness/factories.ts';
import { type Caller, send } from '../harness/requests.ts';
import { make, use, useServer } from '../harness/use.ts';
import { codeOf, unknownIds } from './refusals.ts';

describe('grantTag, verifyBot and grantEarlyAccess', () => {
  const { api, owner, server } = useServer();
  const operator = use(() => openOperatorPlatform(api.platform.config, createLog('operator', 'error')));
  const person = make(() => makeMember(api, owner, server.id), { each: true });
  const bot = make(() => makeBot(api, owner, server.id), { each: true });

  const account = (id: string) => api.platform.db.accounts.findOne({ _id: id });
  /** The tag that others see on the messages of `author`. */
  async function shownTag(author: Caller): Promise<string | undefined> {
    const messages = await send<Message[]>(api, 200, owner, 'GET', `/api/channels/${server.general}/messages`);
    const own = messages.find((one) => one.author.id === author.id);
    if (!own) throw new Error('no message of this author');
    return own.author.tag;
  }
  const post = (as: Caller): Promise<unknown> => send(api, 201, as, 'POST', `/api/channels/${server.general}/messages`, { content: 'hi' });

  it('shows the tag official of a person with the next request, and removes it again', async () => {
    await post(person);
    expect(await shownTag(person)).to.equal(undefined);
    const official = { id: person.id, name: person.username, before: null, after: 'official' };
    expect(await grantTag(operator, person.id, 'official')).to.deep.equal(official);
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
    const granted = { id: person.id, name: person.username, before: false, after: true };
    expect(await grantEarlyAccess(operator, person.id)).to.deep.equal(granted);
    expect((await account(person.id))?.earlyAccess).to.equal(true);
    expect(await grantEarlyAccess(operator, person.id)).to.include({ before: true, after: true });
    expect(await grantEarlyAccess(operator, person.id, { undo: true })).to.include({ before: true, after: false });
    expect((await account(person.id))?.earlyAccess).to.equal(false);
    expect(await codeOf(grantEarlyAccess(operator, bot.id))).to.equal('invalid_request');
  });

  it('refuses ids that match nothing with not_found, and changes no account', async () => {
    const before = await api.platform.db.accounts.find().sort({ _id: 1 }).toArray();
    for (const id of unknownIds)
      for (const attempt of [
        grantTag(operator, id, 'official'),
        grantTag(operator, id, 'none'),
        verifyBot(operator, id),
        grantEarlyAccess(operator, id),
      ])
        expect(await codeOf(attempt), id).to.equal('not_found');
    expect(await api.platform.db.accounts.find().sort({ _id: 1 }).toArray()).to.deep.equal(before);
  });
});
