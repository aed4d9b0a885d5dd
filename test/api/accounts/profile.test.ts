import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Member } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { ServerType } from '../../../lib/contract/server.ts';
import type { Me, MeDetails, Profile } from '../../../lib/contract/user.ts';
import { grantEarlyAccess, grantTag, verifyBot } from '../../../lib/domain/servers/grants.ts';
import { ensureSystemAccount, systemAccount } from '../../../lib/domain/system-account.ts';
import { startSecondApi, startTestApi } from '../../harness/api.ts';
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
  postMessage,
} from '../../harness/factories.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';

const pathOf = (id: string): string => `/api/users/${id}/profile`;

describe('GET /api/users/{userId}/profile and PATCH /api/users/@me', () => {
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

  describe('access', () => {
    it('200 for one’s own profile, also without a server, and for those of people and bots in a shared server', async () => {
      const alone = await makePerson(api);
      expect(await profile(alone, alone)).to.deep.include({ mutualServers: [] });
      for (const [as, whose] of [
        [bot, member],
        [member, bot],
        [member, owner],
        [bot, await makeBot(api, owner, server.id)],
      ] as const)
        expect((await profile(as, whose)).user.id).to.equal(whose.id);
    });

    it('404 for a stranger, an unknown id, and the system account', async () => {
      const stranger = await makePerson(api);
      await makeServer(api, stranger);
      for (const id of [member.id, bot.id]) await refusedProfile(stranger, id);
      for (const id of [stranger.id, '@me', server.id, systemAccount._id]) await refusedProfile(bot, id);
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

  describe('PATCH /api/users/@me', () => {
    const path = '/api/users/@me';
    const emoji = '🎈';
    const patch = (as: Caller, body: unknown): Promise<MeDetails> => send(api, 200, as, 'PATCH', path, body);
    const me = (as: Caller): Promise<Me> => send(api, 200, as, 'GET', '/api/auth/me');

    it('200 with the caller’s account, bio and pronouns, for people and bots; omitted fields keep their values', async () => {
      for (const who of [member, bot]) {
        const before = await me(who);
        expect(await patch(who, {})).to.deep.equal({ ...before, displayName: who.username, bio: null, pronouns: null });
        expect(await profile(owner, who)).to.deep.include({ bio: null, pronouns: null });
        const set = { displayName: 'Ann', bio: 'I am', pronouns: 'she/her' };
        expect(await patch(who, set)).to.deep.equal({ ...before, ...set });
        expect(await patch(who, {})).to.deep.include(set);
        expect(await patch(who, { bio: 'new' })).to.deep.include({ ...set, bio: 'new' });
        expect(await profile(owner, who)).to.deep.include({ bio: 'new', pronouns: 'she/her' });
        expect(await me(who)).to.deep.equal({ ...before, displayName: 'Ann' });
      }
    });

    it('renaming an application also changes its bot’s display name, unless the bot has set one', async () => {
      const rename = (name: string) => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name });
      await rename('first');
      expect(await me(bot)).to.include({ username: 'first', displayName: 'first' });
      await patch(bot, { displayName: 'Mine' });
      await rename('second');
      expect(await me(bot)).to.include({ username: 'second', displayName: 'Mine' });
    });

    it('null and empty text clear all three fields; the display name becomes the username', async () => {
      for (const who of [member, bot])
        for (const empty of [null, '']) {
          const { username } = await me(who);
          await patch(who, { displayName: 'Ann', bio: 'I am', pronouns: 'she/her' });
          const cleared = await patch(who, { displayName: empty, bio: empty, pronouns: empty });
          expect(cleared, JSON.stringify(empty)).to.deep.include({ displayName: username, bio: null, pronouns: null });
          expect(await profile(owner, who), JSON.stringify(empty)).to.deep.include({ bio: null, pronouns: null });
        }
    });

    for (const [field, most] of [
      ['displayName', 32],
      ['bio', 190],
      ['pronouns', 40],
    ] as const)
      it(`${field}: 200 for ${most} emoji, 400 for one more and for what is no text`, async () => {
        expect((await patch(member, { [field]: emoji.repeat(most) }))[field]).to.equal(emoji.repeat(most));
        for (const wrong of [emoji.repeat(most + 1), 7, true, ['a'], { a: 1 }]) {
          const { errors } = await refused(api, [400, 'invalid_request'], member, 'PATCH', path, { [field]: wrong });
          expect(errors?.[0]?.path, JSON.stringify(wrong)).to.equal(`/${field}`);
        }
        expect((await patch(member, {}))[field]).to.equal(emoji.repeat(most));
      });

    it('trims displayName, and stores text that looks like a database expression as it is', async () => {
      expect((await patch(member, { displayName: '  Ann  ' })).displayName).to.equal('Ann');
      const odd = { displayName: '$username', bio: '$$NOW', pronouns: '$bio' };
      expect(await patch(member, odd)).to.deep.include(odd);
    });

    it('ignores other fields of the account', async () => {
      const before = await me(member);
      await patch(member, { username: 'root', tag: 'official', status: 'dnd', earlyAccess: true, kind: 'system', bio: 'x', _id: owner.id });
      expect(await me(member)).to.deep.equal(before);
      expect((await profile(owner, member)).badges).to.deep.equal([]);
    });

    it('concurrent changes of different fields are all kept', async () => {
      const answers = await inParallel(30, (n) =>
        api.call('PATCH', path, { as: member.as, body: n % 2 ? { bio: `b${n}` } : { pronouns: `p${n}` } }),
      );
      expect(tally(answers)).to.deep.equal({ 200: 30 });
      const { bio, pronouns } = await patch(member, {});
      expect([bio, pronouns]).to.satisfy(([b, p]: string[]) => /^b\d/.test(b ?? '') && /^p\d/.test(p ?? ''));
    });

    describe('with a second API process', () => {
      const second = use(() => startSecondApi(api));

      it('shows a new name at once in members, DMs, the profile and messages', async () => {
        const seen = async (): Promise<unknown[]> => {
          const members = await send<Member[]>(second, 200, owner, 'GET', `/api/servers/${server.id}/members`);
          const dms = await send<DmChannel[]>(second, 200, owner, 'GET', '/api/users/@me/channels');
          const messages = await send<Message[]>(second, 200, owner, 'GET', `/api/channels/${server.general}/messages?limit=1`);
          const shown = await send<Profile>(second, 200, owner, 'GET', pathOf(member.id));
          return [
            members.find(({ user }) => user.id === member.id)?.user.displayName,
            dms.find(({ recipient }) => recipient.id === member.id)?.recipient.displayName,
            messages[0]?.author.displayName,
            shown.user.displayName,
          ];
        };
        await openDm(api, owner, member);
        await postMessage(api, member, server.general);
        await seen();
        for (const displayName of ['One', 'Two']) {
          await patch(member, { displayName });
          expect(await seen()).to.deep.equal([displayName, displayName, displayName, displayName]);
        }
      });
    });
  });
});
