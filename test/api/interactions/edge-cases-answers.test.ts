import { expect } from 'chai';
import { everyoneDefault, permissionBits } from '../../../lib/base/permissions.ts';
import { restoreAccount, suspendAccount } from '../../../lib/domain/accounts/suspensions.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makePerson, withEveryone } from '../../harness/factories.ts';
import { startInteractionFixture } from '../../harness/interaction-fixture.ts';
import { send } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';

describe('messages that answer commands', () => {
  const fixture = use(startInteractionFixture);

  const answer = async (content: string): Promise<Record<string, unknown>> => {
    const { status, body } = await fixture.send('callback', await fixture.use(), { type: 'message', content });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body;
  };

  it('@everyone mentions only with the Mention Everyone permission of the bot, not of the person', async () => {
    const { serverId, ownerId } = fixture.seeded;
    const content = `@everyone <@${ownerId}> \`<@${fixture.bot.id}>\` <@&${serverId}>`;
    const expected = { mentions: [ownerId], mentionRoles: [], mentionEveryone: false };
    expect(await answer(content)).to.deep.include(expected);
    await withEveryone(fixture.api, fixture.person, serverId, everyoneDefault | permissionBits['Mention Everyone'], async () => {
      expect(await answer(content)).to.deep.include({ ...expected, mentionEveryone: true });
    });
  });

  it('400 for invisible content, after which the interaction can still be answered', async () => {
    const id = await fixture.use();
    expect((await fixture.send('callback', id, { type: 'message', content: '\u200b\u2060' })).status).to.equal(400);
    expect((await fixture.send('callback', id, { type: 'message', embeds: [{ title: '\u3164' }] })).status).to.equal(400);
    expect((await fixture.send('callback', id, { type: 'message', content: 'seen' })).status).to.equal(201);
  });

  it('slow mode does not limit answers and follow-ups, and they start no cooldown', async () => {
    const { channelId, asBot } = fixture;
    await send(fixture.api, 200, fixture.person, 'PATCH', `/api/channels/${channelId}`, { slowmodeSecs: 60 });
    const post = async (): Promise<number> =>
      (await fixture.api.call('POST', `/api/channels/${channelId}/messages`, { as: asBot, body: { content: 'x' } })).status;
    for (let n = 0; n < 2; n++) await answer('x');
    expect([await post(), await post()]).to.deep.equal([201, 429]);
    const id = await fixture.use();
    for (const route of ['callback', 'followup', 'followup'] as const)
      expect((await fixture.send(route, id, { type: 'message', content: 'x' })).status).to.equal(201);
  });

  it('403 account_suspended with any token while the owner of the application is suspended; the same tokens work afterward', async () => {
    const { api, seeded, asPerson, bot, channelId } = fixture;
    const owner = await makePerson(api);
    const { db } = api.platform;
    await db.applications.updateOne({ _id: bot.applicationId }, { $set: { ownerId: owner.id } });
    const [unanswered, deferred, answered] = [await fixture.use(), await fixture.use(), await fixture.use()];
    expect((await fixture.send('callback', deferred, { type: 'defer' })).status).to.equal(204);
    expect((await fixture.send('callback', answered, { type: 'message', content: 'x' })).status).to.equal(201);
    const original = `/api/interactions/${answered}/${fixture.tokenOf(answered)}/original`;
    const before = (await fixture.messages()).length;
    await suspendAccount(api.platform, owner.id, undefined);
    const refused = [
      await fixture.send('callback', unanswered, { type: 'message', content: 'x' }),
      await fixture.send('callback', unanswered, { type: 'message', content: 'x', ephemeral: true }),
      await fixture.send('callback', unanswered, { type: 'defer' }),
      await fixture.send('followup', deferred, { content: 'x' }),
      await fixture.send('followup', answered, { content: 'x' }),
      await fixture.send('followup', answered, { content: 'x', ephemeral: true }),
      await api.call('GET', original),
      await api.call('PATCH', original, { body: { content: 'y' } }),
      await api.call('DELETE', original),
    ];
    for (const one of refused) expectError(one, 403, 'account_suspended');
    expect(await fixture.messages()).to.have.length(before);
    const invoke = () =>
      api.call('POST', `/api/channels/${channelId}/commands/${fixture.commands.hello}/invoke`, { as: asPerson, body: {} });
    await db.applications.updateOne({ _id: bot.applicationId }, { $set: { interactionsEndpointUrl: 'https://endpoint.example/' } });
    expectError(await invoke(), 409, 'bot_offline');
    await restoreAccount(api.platform, owner.id);
    expect((await invoke()).status).to.equal(202);
    await db.applications.updateOne({ _id: bot.applicationId }, { $set: { interactionsEndpointUrl: null, ownerId: seeded.ownerId } });
    expect((await fixture.send('callback', unanswered, { type: 'message', content: 'x' })).status).to.equal(201);
    expect((await fixture.send('followup', deferred, { content: 'x' })).status).to.equal(201);
    expect((await api.call('DELETE', original)).status).to.equal(204);
  });
});
