import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { Member } from '../../../lib/contract/server.ts';
import type { Me, MeInFull, Profile } from '../../../lib/contract/user.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  tally,
} from '../../harness/factories.ts';

const path = '/api/users/@me';
const emoji = '🎈';

describe('PATCH /api/users/@me', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let bot: Bot;
  let member: Caller;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
  });
  after(() => api.close());
  beforeEach(async () => {
    bot = await makeBot(api, owner, server.id);
    member = await makeMember(api, owner, server.id);
  });

  const patch = (as: Caller, body: unknown): Promise<MeInFull> => send(api, 200, as, 'PATCH', path, body);
  const me = (as: Caller): Promise<Me> => send(api, 200, as, 'GET', '/api/auth/me');
  const profileOf = (whose: Caller): Promise<Profile> => send(api, 200, owner, 'GET', `/api/users/${whose.id}/profile`);

  it('200 with the own account, bio and pronouns, for people and bots; what is left out stays', async () => {
    for (const who of [member, bot]) {
      const before = await me(who);
      expect(await patch(who, { displayName: 'Ann', bio: 'I am', pronouns: 'she/her' })).to.deep.equal({
        ...before,
        displayName: 'Ann',
        bio: 'I am',
        pronouns: 'she/her',
      });
      expect(await patch(who, {})).to.deep.include({ displayName: 'Ann', bio: 'I am', pronouns: 'she/her' });
      expect(await patch(who, { bio: 'new' })).to.deep.include({ displayName: 'Ann', bio: 'new', pronouns: 'she/her' });
      expect(await me(who)).to.deep.equal({ ...before, displayName: 'Ann' });
    }
  });

  it('a bot keeps the display name that it chose when its application is renamed, and one that it did not choose follows', async () => {
    const rename = (name: string) => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name });
    await rename('first');
    expect(await me(bot)).to.include({ username: 'first', displayName: 'first' });
    await patch(bot, { displayName: 'Mine' });
    await rename('second');
    expect(await me(bot)).to.include({ username: 'second', displayName: 'Mine' });
  });

  it('nothing is said before anything was set', async () => {
    expect(await patch(member, {})).to.deep.include({ displayName: member.username, bio: null, pronouns: null });
    expect(await profileOf(member)).to.deep.include({ bio: null, pronouns: null });
  });

  for (const nothing of [null, ''])
    it(`${JSON.stringify(nothing)} clears; without a display name the username is shown`, async () => {
      for (const who of [member, bot]) {
        const { username } = await me(who);
        await patch(who, { displayName: 'Ann', bio: 'I am', pronouns: 'she/her' });
        const cleared = await patch(who, { displayName: nothing, bio: nothing, pronouns: nothing });
        expect(cleared).to.deep.include({ displayName: username, bio: null, pronouns: null });
        expect(await profileOf(who)).to.deep.include({ bio: null, pronouns: null });
      }
    });

  const bounds: [field: 'displayName' | 'bio' | 'pronouns', most: number][] = [
    ['displayName', 32],
    ['bio', 190],
    ['pronouns', 40],
  ];
  for (const [field, most] of bounds) {
    it(`${field}: ${most} characters fit, however wide; one more does not`, async () => {
      expect((await patch(member, { [field]: emoji.repeat(most) }))[field]).to.equal(emoji.repeat(most));
      const error = await refused(api, [400, 'invalid_request'], member, 'PATCH', path, { [field]: emoji.repeat(most + 1) });
      expect(error.errors?.[0]?.path).to.equal(`/${field}`);
      expect((await patch(member, {}))[field]).to.equal(emoji.repeat(most));
    });

    for (const wrong of [7, true, ['a'], { a: 1 }])
      it(`${field}: 400 for ${JSON.stringify(wrong)}`, () =>
        refused(api, [400, 'invalid_request'], member, 'PATCH', path, { [field]: wrong }));
  }

  it('displayName is trimmed; 400 for one that is blank or has line breaks', async () => {
    expect((await patch(member, { displayName: '  Ann  ' })).displayName).to.equal('Ann');
    for (const displayName of ['   ', 'a\nb', 'a\u2028b'])
      await refused(api, [400, 'invalid_request'], member, 'PATCH', path, { displayName });
    expect((await me(member)).displayName).to.equal('Ann');
  });

  it('what looks like an expression of the database stays text', async () => {
    const said = { displayName: '$username', bio: '$$NOW', pronouns: '$bio' };
    expect(await patch(member, said)).to.deep.include(said);
  });

  it('other fields of the account are not taken from the body', async () => {
    const before = await me(member);
    await patch(member, { username: 'root', tag: 'official', status: 'dnd', earlyAccess: true, kind: 'system', bio: 'x', _id: owner.id });
    expect(await me(member)).to.deep.equal(before);
    expect((await profileOf(member)).badges).to.deep.equal([]);
  });

  it('401 without a credential, and both of two calls at once count', async () => {
    await refused(api, [401, 'unauthorized'], null, 'PATCH', path, { bio: 'x' });
    const calls = Array.from({ length: 30 }, (_, n) =>
      api.call('PATCH', path, { as: member.as, body: n % 2 ? { bio: `b${n}` } : { pronouns: `p${n}` } }),
    );
    expect(tally(await Promise.all(calls))).to.deep.equal({ 200: 30 });
    const { bio, pronouns } = await patch(member, {});
    expect([bio, pronouns]).to.satisfy(([b, p]: string[]) => /^b\d/.test(b ?? '') && /^p\d/.test(p ?? ''));
  });

  it('a new name is seen at once by every node: members, DMs, profile, authors of messages', async () => {
    const other = await startTestApi({
      MONGODB_URL: api.platform.config.MONGODB_URL,
      REDIS_PREFIX: api.platform.config.REDIS_PREFIX,
    });
    try {
      const seen = async (): Promise<unknown[]> => {
        const members = await send<Member[]>(other, 200, owner, 'GET', `/api/servers/${server.id}/members`);
        const dms = await send<DmChannel[]>(other, 200, owner, 'GET', '/api/users/@me/channels');
        const messages = await send<Message[]>(other, 200, owner, 'GET', `/api/channels/${server.general}/messages?limit=1`);
        const profile = await send<Profile>(other, 200, owner, 'GET', `/api/users/${member.id}/profile`);
        return [
          members.find(({ user }) => user.id === member.id)?.user.displayName,
          dms.find(({ recipient }) => recipient.id === member.id)?.recipient.displayName,
          messages[0]?.author.displayName,
          profile.user.displayName,
        ];
      };
      await send(api, 201, owner, 'POST', '/api/users/@me/channels', { recipientId: member.id });
      await send(api, 201, member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      await seen();
      for (const displayName of ['One', 'Two']) {
        await patch(member, { displayName });
        expect(await seen()).to.deep.equal([displayName, displayName, displayName, displayName]);
      }
    } finally {
      await other.close();
    }
  });
});
