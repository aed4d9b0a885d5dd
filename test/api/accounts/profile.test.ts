import { expect } from 'chai';
import type { ServerType } from '../../../lib/contract/server.ts';
import type { Me, Profile } from '../../../lib/contract/user.ts';
import { grantEarlyAccess, grantTag, verifyBot } from '../../../lib/domain/servers/grants.ts';
import { ensureSystemAccount, systemAccount } from '../../../lib/domain/system-account.ts';
import { startTestApi } from '../../harness/api.ts';
import {
  authorize,
  grantTypes,
  join,
  leave,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  openDm,
  type Place,
} from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';

const pathOf = (id: string): string => `/api/users/${id}/profile`;

describe('GET /api/users/{userId}/profile', () => {
  const api = use(startTestApi);
  const each = { each: true };
  const owner = make(() => makePerson(api), each);
  const server = make(() => makeServer(api, owner), each);
  const bot = make(() => makeBot(api, owner, server.id), each);
  const member = make(() => makeMember(api, owner, server.id), each);
  before(() => ensureSystemAccount(api.platform));

  const profile = (as: Caller, whose: Caller, query = ''): Promise<Profile> => send(api, 200, as, 'GET', pathOf(whose.id) + query);
  const refusedProfile = (as: Caller, id: string) => refused(api, [404, 'not_found'], as, 'GET', pathOf(id));
  const summaryOf = ({ id, name, iconUrl }: Place) => ({ id, name, iconUrl });

  it('200 with exactly the fields of a profile', async () => {
    const { createdAt } = await send<Me>(api, 200, member, 'GET', '/api/auth/me');
    expect(await profile(bot, member)).to.deep.equal({
      user: { id: member.id, username: member.username, displayName: member.username, status: 'offline', customStatus: null },
      bio: null,
      pronouns: null,
      createdAt,
      mutualServers: [summaryOf(server)],
      badges: [],
      tag: null,
    });
  });

  it('shows the current bio, pronouns, display name and custom status', async () => {
    await send(api, 200, member, 'PATCH', '/api/users/@me', { bio: 'I am', pronouns: 'they', displayName: 'M' });
    await send(api, 200, member, 'PATCH', '/api/users/@me/presence', { customStatus: 'busy' });
    const shown = await profile(bot, member);
    expect(shown).to.deep.include({ bio: 'I am', pronouns: 'they' });
    expect(shown.user).to.deep.include({ displayName: 'M', customStatus: 'busy', status: 'offline' });
  });

  describe('access', () => {
    it('200 for one’s own profile, also without a server', async () => {
      const alone = await makePerson(api);
      expect(await profile(alone, alone)).to.deep.include({ mutualServers: [] });
    });

    it('200 for people and bots who share a server with the account, a person or a bot', async () => {
      for (const [as, whose] of [
        [bot, member],
        [member, bot],
        [member, owner],
        [bot, await makeBot(api, owner, server.id)],
      ] as const)
        expect((await profile(as, whose)).user.id).to.equal(whose.id);
    });

    it('404 for a stranger, an unknown or malformed id, and the system account', async () => {
      const stranger = await makePerson(api);
      await makeServer(api, stranger);
      for (const id of [member.id, bot.id]) await refusedProfile(stranger, id);
      for (const id of [stranger.id, '1000000000000000001', 'x', '@me', `${member.id}0`, server.id, systemAccount._id])
        await refusedProfile(bot, id);
    });

    it('404 as soon as the last shared server is left, unless the two have a DM', async () => {
      await openDm(api, bot, member);
      const other = await makeBot(api, owner, server.id);
      await leave(api, member, server.id);
      expect((await profile(bot, member)).mutualServers).to.deep.equal([]);
      expect((await profile(member, bot)).mutualServers).to.deep.equal([]);
      await refusedProfile(other, member.id);
      await refusedProfile(member, other.id);
    });

    it('200 for the system account if it has a DM with the caller', async () => {
      await api.platform.db.dms.insertOne({
        _id: api.platform.ids.next(),
        pair: `${systemAccount._id}:${member.id}`,
        userIds: [systemAccount._id, member.id],
        bots: [],
        lastMessageId: null,
        activeId: member.id,
        createdAt: new Date(),
      });
      const shown = await profile(member, { ...member, id: systemAccount._id });
      expect([shown.tag, shown.user.status, shown.badges]).to.deep.equal(['system', 'offline', []]);
    });

    it('401 without a credential', () => refused(api, [401, 'unauthorized'], null, 'GET', pathOf(member.id)));
  });

  describe('mutual servers and serverJoinedAt', () => {
    it('mutualServers lists the servers that both are in, by id', async () => {
      const second = await makeServer(api, owner);
      const third = await makeServer(api, owner);
      await authorize(api, owner, bot, second.id);
      await join(api, owner, second.id, member);
      await join(api, owner, third.id, member);
      for (const [as, whose] of [
        [bot, member],
        [member, bot],
      ] as const)
        expect((await profile(as, whose)).mutualServers).to.deep.equal([summaryOf(server), summaryOf(second)]);
      expect((await profile(member, member)).mutualServers).to.deep.equal([summaryOf(server), summaryOf(second), summaryOf(third)]);
    });

    it('serverJoinedAt is set when both are in that server, else absent; 400 for a malformed id', async () => {
      const second = await makeServer(api, owner);
      await join(api, owner, second.id, member);
      for (const [as, whose] of [
        [bot, member],
        [member, bot],
        [member, member],
      ] as const) {
        const { joinedAt } = (await api.platform.db.members.findOne({ _id: `${server.id}:${whose.id}` })) ?? expect.fail();
        expect(await profile(as, whose, `?serverId=${server.id}`)).to.deep.include({ serverJoinedAt: joinedAt.toISOString() });
      }
      // The member is in the second server, but the bot is not.
      for (const id of [second.id, '1000000000000000001'])
        expect(await profile(bot, member, `?serverId=${id}`)).not.to.have.property('serverJoinedAt');
      expect(await profile(bot, member)).not.to.have.property('serverJoinedAt');
      for (const id of ['x', '', '1']) await refused(api, [400, 'invalid_request'], bot, 'GET', `${pathOf(member.id)}?serverId=${id}`);
    });
  });

  describe('badges', () => {
    const table: [type: ServerType, ofOwner: string[], ofMember: string[]][] = [
      ['staff', ['staff'], ['staff']],
      ['developer', ['developer'], ['developer']],
      ['partnered', ['partner'], []],
      ['verified', ['verified_server_owner'], []],
      ['official', [], []],
    ];
    for (const [type, ofOwner, ofMember] of table)
      it(`${type} server: ${JSON.stringify(ofOwner)} for its owner, ${JSON.stringify(ofMember)} for its members, none for bots`, async () => {
        await grantTypes(api, server.id, [type]);
        expect((await profile(bot, owner)).badges).to.deep.equal(ofOwner);
        expect((await profile(bot, member)).badges).to.deep.equal(ofMember);
        expect((await profile(member, bot)).badges).to.deep.equal([]);
        await grantTypes(api, server.id, []);
        expect((await profile(bot, owner)).badges).to.deep.equal([]);
      });

    it('come in a fixed order, also from servers that the caller is not in', async () => {
      const secret = await makeServer(api, owner);
      await grantTypes(api, secret.id, ['verified', 'partnered', 'developer', 'staff', 'official']);
      await grantEarlyAccess(api.platform, owner.id);
      const { badges, mutualServers } = await profile(bot, owner);
      expect(badges).to.deep.equal(['staff', 'developer', 'partner', 'verified_server_owner', 'early_access']);
      expect(mutualServers).to.deep.equal([summaryOf(server)]);
    });

    it('are removed with the membership or ownership that granted them', async () => {
      await grantTypes(api, server.id, ['staff', 'partnered']);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: member.id });
      expect((await profile(bot, owner)).badges).to.deep.equal(['staff']);
      expect((await profile(bot, member)).badges).to.deep.equal(['staff', 'partner']);
      await leave(api, owner, server.id);
      expect((await profile(owner, owner)).badges).to.deep.equal([]);
    });
  });

  it('shows the tags of bots, verified bots and official accounts', async () => {
    expect((await profile(member, bot)).tag).to.equal('bot');
    await verifyBot(api.platform, bot.applicationId);
    expect((await profile(member, bot)).tag).to.equal('verified_bot');
    await grantTag(api.platform, owner.id, 'official');
    expect((await profile(member, owner)).tag).to.equal('official');
  });
});
