import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Member } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { Me, MeDetails, Profile } from '../../../lib/contract/user.ts';
import { startSecondApi } from '../../harness/api.ts';
import { openDm, postMessage } from '../../harness/factories.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newBot, newMember, use, useServer } from '../../harness/use.ts';

const path = '/api/users/@me';
const emoji = '🎈';

describe('PATCH /api/users/@me', () => {
  const { api, owner, server, bot, member } = useServer({ bot: newBot(), member: newMember() }, { each: true });

  const patch = (as: Caller, body: unknown): Promise<MeDetails> => send(api, 200, as, 'PATCH', path, body);
  const me = (as: Caller): Promise<Me> => send(api, 200, as, 'GET', '/api/auth/me');
  const profileOf = (whose: Caller): Promise<Profile> => send(api, 200, owner, 'GET', `/api/users/${whose.id}/profile`);

  it('200 with the caller’s account, bio and pronouns, for people and bots; omitted fields keep their values', async () => {
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

  it('renaming an application also changes its bot’s display name, unless the bot has set one', async () => {
    const rename = (name: string) => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name });
    await rename('first');
    expect(await me(bot)).to.include({ username: 'first', displayName: 'first' });
    await patch(bot, { displayName: 'Mine' });
    await rename('second');
    expect(await me(bot)).to.include({ username: 'second', displayName: 'Mine' });
  });

  it('bio and pronouns are null by default, and the display name is the username', async () => {
    expect(await patch(member, {})).to.deep.include({ displayName: member.username, bio: null, pronouns: null });
    expect(await profileOf(member)).to.deep.include({ bio: null, pronouns: null });
  });

  for (const empty of [null, ''])
    it(`${JSON.stringify(empty)} clears all three fields; the display name becomes the username`, async () => {
      for (const who of [member, bot]) {
        const { username } = await me(who);
        await patch(who, { displayName: 'Ann', bio: 'I am', pronouns: 'she/her' });
        const cleared = await patch(who, { displayName: empty, bio: empty, pronouns: empty });
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
    it(`${field}: 200 for ${most} emoji, 400 for one more`, async () => {
      expect((await patch(member, { [field]: emoji.repeat(most) }))[field]).to.equal(emoji.repeat(most));
      const error = await refused(api, [400, 'invalid_request'], member, 'PATCH', path, { [field]: emoji.repeat(most + 1) });
      expect(error.errors?.[0]?.path).to.equal(`/${field}`);
      expect((await patch(member, {}))[field]).to.equal(emoji.repeat(most));
    });

    for (const wrong of [7, true, ['a'], { a: 1 }])
      it(`${field}: 400 for ${JSON.stringify(wrong)}`, () =>
        refused(api, [400, 'invalid_request'], member, 'PATCH', path, { [field]: wrong }));
  }

  it('trims displayName; 400 for one that is blank or has line breaks', async () => {
    expect((await patch(member, { displayName: '  Ann  ' })).displayName).to.equal('Ann');
    for (const displayName of ['   ', 'a\nb', 'a\u2028b'])
      await refused(api, [400, 'invalid_request'], member, 'PATCH', path, { displayName });
    expect((await me(member)).displayName).to.equal('Ann');
  });

  it('stores text that looks like a database expression as it is', async () => {
    const odd = { displayName: '$username', bio: '$$NOW', pronouns: '$bio' };
    expect(await patch(member, odd)).to.deep.include(odd);
  });

  it('ignores other fields of the account', async () => {
    const before = await me(member);
    await patch(member, { username: 'root', tag: 'official', status: 'dnd', earlyAccess: true, kind: 'system', bio: 'x', _id: owner.id });
    expect(await me(member)).to.deep.equal(before);
    expect((await profileOf(member)).badges).to.deep.equal([]);
  });

  it('401 without a credential; concurrent changes of different fields are all kept', async () => {
    await refused(api, [401, 'unauthorized'], null, 'PATCH', path, { bio: 'x' });
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
        const profile = await send<Profile>(second, 200, owner, 'GET', `/api/users/${member.id}/profile`);
        return [
          members.find(({ user }) => user.id === member.id)?.user.displayName,
          dms.find(({ recipient }) => recipient.id === member.id)?.recipient.displayName,
          messages[0]?.author.displayName,
          profile.user.displayName,
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
