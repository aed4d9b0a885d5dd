import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { ServerType } from '../../../lib/contract/server.ts';
import type { Me, Profile } from '../../../lib/contract/user.ts';
import { ensureSystemAccount, systemAccount } from '../../../lib/domain/accounts/system-account.ts';
import { grantEarlyAccess, grantTag, verifyBot } from '../../../lib/domain/servers/grants.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  grantTypes,
  join,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';

const pathOf = (id: string): string => `/api/users/${id}/profile`;

describe('GET /api/users/{userId}/profile', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let bot: Bot;
  let member: Caller;
  before(async () => {
    api = await startTestApi();
    await ensureSystemAccount(api.platform);
  });
  after(() => api.close());
  beforeEach(async () => {
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    bot = await makeBot(api, owner, server.id);
    member = await makeMember(api, owner, server.id);
  });

  const profile = (as: Caller, whose: Caller, query = ''): Promise<Profile> => send(api, 200, as, 'GET', pathOf(whose.id) + query);
  const unknown = (as: Caller, id: string) => refused(api, [404, 'not_found'], as, 'GET', pathOf(id));
  const leave = (as: Caller): Promise<void> => send(api, 204, as, 'DELETE', `/api/users/@me/servers/${server.id}`);
  const brief = ({ id, name, iconUrl }: Place) => ({ id, name, iconUrl });

  it('200 with all fields of a profile, and no others', async () => {
    const { createdAt } = await send<Me>(api, 200, member, 'GET', '/api/auth/me');
    expect(await profile(bot, member)).to.deep.equal({
      user: { id: member.id, username: member.username, displayName: member.username, status: 'offline', customStatus: null },
      bio: null,
      pronouns: null,
      createdAt,
      mutualServers: [brief(server)],
      badges: [],
      tag: null,
    });
  });

  it('bio, pronouns and custom status as they are now', async () => {
    await send(api, 200, member, 'PATCH', '/api/users/@me', { bio: 'I am', pronouns: 'they', displayName: 'M' });
    await send(api, 200, member, 'PATCH', '/api/users/@me/presence', { customStatus: 'busy' });
    const shown = await profile(bot, member);
    expect(shown).to.deep.include({ bio: 'I am', pronouns: 'they' });
    expect(shown.user).to.deep.include({ displayName: 'M', customStatus: 'busy', status: 'offline' });
  });

  describe('who may see it', () => {
    it('oneself, in no server too', async () => {
      const alone = await makePerson(api);
      expect(await profile(alone, alone)).to.deep.include({ mutualServers: [] });
    });

    it('who shares a server: people and bots, of people and bots', async () => {
      for (const [as, whose] of [
        [bot, member],
        [member, bot],
        [member, owner],
        [bot, await makeBot(api, owner, server.id)],
      ] as const)
        expect((await profile(as, whose)).user.id).to.equal(whose.id);
    });

    it('404 for a stranger, an unknown id, what is no id, and the platform’s account', async () => {
      const stranger = await makePerson(api);
      await makeServer(api, stranger);
      for (const id of [member.id, bot.id]) await unknown(stranger, id);
      for (const id of [stranger.id, '1000000000000000001', 'x', '@me', `${member.id}0`, server.id, systemAccount._id])
        await unknown(bot, id);
    });

    it('404 as soon as the last shared server is left; a DM keeps it', async () => {
      await send<DmChannel>(api, 201, bot, 'POST', '/api/users/@me/channels', { recipientId: member.id });
      const other = await makeBot(api, owner, server.id);
      await leave(member);
      expect((await profile(bot, member)).mutualServers).to.deep.equal([]);
      expect((await profile(member, bot)).mutualServers).to.deep.equal([]);
      await unknown(other, member.id);
      await unknown(member, other.id);
    });

    it('the platform’s account for who has a notice of it', async () => {
      await api.platform.db.dms.create({
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
    it('only servers that both are in, in the order of their ids', async () => {
      const second = await makeServer(api, owner);
      const third = await makeServer(api, owner);
      await authorize(api, owner, bot, second.id);
      await join(api, owner, second.id, member);
      await join(api, owner, third.id, member);
      for (const [as, whose] of [
        [bot, member],
        [member, bot],
      ] as const)
        expect((await profile(as, whose)).mutualServers).to.deep.equal([brief(server), brief(second)]);
      expect((await profile(member, member)).mutualServers).to.deep.equal([brief(server), brief(second), brief(third)]);
    });

    it('serverJoinedAt when both are in that server, else absent; 400 for what is no id', async () => {
      const second = await makeServer(api, owner);
      await join(api, owner, second.id, member);
      for (const [as, whose] of [
        [bot, member],
        [member, bot],
        [member, member],
      ] as const) {
        const { joinedAt } = (await api.platform.db.members.findOne({ _id: `${server.id}:${whose.id}` }).lean()) ?? expect.fail();
        expect(await profile(as, whose, `?serverId=${server.id}`)).to.deep.include({ serverJoinedAt: joinedAt.toISOString() });
      }
      // The member is there, but who asks may not know.
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
      it(`${type} server: its owner ${JSON.stringify(ofOwner)}, its members ${JSON.stringify(ofMember)}, bots none`, async () => {
        await grantTypes(api, server.id, [type]);
        expect((await profile(bot, owner)).badges).to.deep.equal(ofOwner);
        expect((await profile(bot, member)).badges).to.deep.equal(ofMember);
        expect((await profile(member, bot)).badges).to.deep.equal([]);
        await grantTypes(api, server.id, []);
        expect((await profile(bot, owner)).badges).to.deep.equal([]);
      });

    it('all of them in the table’s order, also by servers that who asks is not in', async () => {
      const secret = await makeServer(api, owner);
      await grantTypes(api, secret.id, ['verified', 'partnered', 'developer', 'staff', 'official']);
      await grantEarlyAccess(api.platform, owner.id);
      const { badges, mutualServers } = await profile(bot, owner);
      expect(badges).to.deep.equal(['staff', 'developer', 'partner', 'verified_server_owner', 'early_access']);
      expect(mutualServers).to.deep.equal([brief(server)]);
    });

    it('are gone with the membership or the ownership that gave them', async () => {
      await grantTypes(api, server.id, ['staff', 'partnered']);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: member.id });
      expect((await profile(bot, owner)).badges).to.deep.equal(['staff']);
      expect((await profile(bot, member)).badges).to.deep.equal(['staff', 'partner']);
      await leave(owner);
      expect((await profile(owner, owner)).badges).to.deep.equal([]);
    });
  });

  it('tag: of bots, verified bots and official accounts', async () => {
    expect((await profile(member, bot)).tag).to.equal('bot');
    await verifyBot(api.platform, bot.applicationId);
    expect((await profile(member, bot)).tag).to.equal('verified_bot');
    await grantTag(api.platform, owner.id, 'official');
    expect((await profile(member, owner)).tag).to.equal('official');
  });
});
