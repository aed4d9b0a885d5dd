import { expect } from 'chai';
import type { Message } from '../../../lib/contract/message.ts';
import type { UserFace } from '../../../lib/contract/user.ts';
import { expectError } from '../../harness/expect-error.ts';
import { type MessageFixture, messageFixture } from './message-fixture.ts';

const [view, post] = [1, 2];
const unknownId = '1000000000000000000';

describe('reactions', () => {
  let at: MessageFixture;
  let id: string;
  before(async () => {
    at = await messageFixture();
  });
  after(() => at.api.close());
  beforeEach(async () => {
    id = (await at.post({ content: 'x' })).body.id;
  });

  const rawPath = (text: string, messageId = id): string => `${at.path}/${messageId}/reactions/${text}`;
  const call = (method: string, emoji: string, as = at.bot, messageId = id) =>
    at.api.call(method, rawPath(encodeURIComponent(emoji), messageId), { as });
  const done = async (method: 'PUT' | 'DELETE', emoji: string, as = at.bot): Promise<void> => {
    const { status, body } = await call(method, emoji, as);
    expect(status, JSON.stringify(body)).to.equal(204);
  };
  const reactors = async (emoji: string, as = at.bot): Promise<UserFace[]> =>
    (await at.api.call<UserFace[]>('GET', rawPath(encodeURIComponent(emoji)), { as })).body;
  const shown = async (as = at.bot) => (await at.api.call<Message>('GET', `${at.path}/${id}`, { as })).body.reactions;
  const stored = async () =>
    (await at.api.platform.db.messages.collection.findOne({ _id: id as never })) as unknown as Record<string, unknown>;
  const owed = async () => ((await stored()).ob as { name: string; data?: unknown }[]).slice(1).map(({ name, data }) => [name, data]);
  const idOf = (bot: number): string => at.world.bots[bot]?.id as string;

  describe('PUT /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}', () => {
    it('204; count, and `me` by who reads, in single reads and lists; editedAt stays null; the event is owed', async () => {
      await done('PUT', '👍');
      await done('PUT', '👍', at.person);
      await done('PUT', '🎉', at.person);
      const expected = (bot: boolean, person: boolean) => [
        { emoji: '👍', count: 2, me: bot || person },
        { emoji: '🎉', count: 1, me: person },
      ];
      for (const [as, bot, person] of [
        [at.bot, true, false],
        [at.person, false, true],
        [at.other, false, false],
      ] as const) {
        expect(await shown(as)).to.deep.equal(expected(bot, person));
        const { body } = await at.api.call<Message[]>('GET', `${at.path}?limit=1`, { as });
        expect(body[0]).to.deep.include({ id, reactions: expected(bot, person), editedAt: null });
      }
      const data = (userId: string, emoji: string) => ['REACTION_ADD', { userId, emoji }];
      expect(await owed()).to.deep.equal([data(idOf(0), '👍'), data(at.world.ownerId, '👍'), data(at.world.ownerId, '🎉')]);
    });

    it('the 201 of a post and the 200 of an edit show reactions too', async () => {
      const posted = await at.post<Message>({ content: 'new' });
      expect(posted.body.reactions).to.deep.equal([]);
      await done('PUT', '👍', at.other);
      const edited = await at.api.call<Message>('PATCH', `${at.path}/${id}`, { as: at.bot, body: { content: 'y' } });
      expect(edited.body.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
    });

    it('204 again for the same: nothing changes and nothing is owed', async () => {
      await done('PUT', '👍');
      const before = await stored();
      await done('PUT', '👍');
      expect(await stored()).to.deep.equal(before);
    });

    it('❤ and ❤️ are one, shown fully qualified, also in the event; skin tones differ', async () => {
      await done('PUT', '❤');
      await done('PUT', '❤\uFE0F', at.other);
      for (const emoji of ['👍', '👍🏽', '👍🏿']) await done('PUT', emoji);
      expect((await shown()).map(({ emoji, count }) => [emoji, count])).to.deep.equal([
        ['❤\uFE0F', 2],
        ['👍', 1],
        ['👍🏽', 1],
        ['👍🏿', 1],
      ]);
      expect((await owed()).slice(0, 2).map(([, data]) => (data as { emoji: string }).emoji)).to.deep.equal(['❤\uFE0F', '❤\uFE0F']);
    });

    it('a custom emoji is its id; the first name is shown, also in the events of others', async () => {
      await done('PUT', 'wave:77');
      await done('PUT', 'hello:77', at.other);
      await done('PUT', 'wave:78');
      expect((await shown()).map(({ emoji, count }) => [emoji, count])).to.deep.equal([
        ['wave:77', 2],
        ['wave:78', 1],
      ]);
      await done('DELETE', 'ciao:77');
      expect((await owed()).map(([name, data]) => [name, (data as { emoji: string }).emoji])).to.deep.equal([
        ['REACTION_ADD', 'wave:77'],
        ['REACTION_ADD', 'wave:77'],
        ['REACTION_ADD', 'wave:78'],
        ['REACTION_REMOVE', 'wave:77'],
      ]);
    });

    it('403 missing_permission for a new emoji without Add Reactions; joining needs View Channel only, and ends with the last reactor', async () => {
      await done('PUT', '👍', at.person);
      await at.withPermissions(view, async () => {
        const refused = await call('PUT', '🎉');
        expectError(refused, 403, 'missing_permission');
        expect(refused.body.missing).to.deep.equal(['Add Reactions']);
        await done('PUT', '👍');
        await done('DELETE', '👍', at.person);
        await done('PUT', '👍');
        await done('DELETE', '👍');
        expectError(await call('PUT', '👍'), 403, 'missing_permission');
        expectError(await call('PUT', '👍', at.bot, unknownId), 404, 'not_found');
      });
    });

    it('400 too_many_reactions for the 21st different emoji; joining at 20 is 204; without Add Reactions it is 403', async () => {
      for (let n = 0; n < 20; n++) await done('PUT', `e:${n}`);
      const refused = await call('PUT', '👍', at.other);
      expectError(refused, 400, 'too_many_reactions');
      expect(refused.body.message).to.equal('A message can have at most 20 different reactions. Remove one first.');
      await done('PUT', 'e:19', at.other);
      await at.withPermissions(view | post, async () => expectError(await call('PUT', '👍', at.other), 403, 'missing_permission'));
      await done('DELETE', 'e:0');
      await done('PUT', '👍', at.other);
    });

    it('400 too_many_reactions past 10,000 in all; whoever is among them gets 204', async () => {
      const users = (from: number, count: number) =>
        Array.from({ length: count }, (_, n) => String(2_000_000_000_000_000_000n + BigInt(from + n)));
      const reactions = [
        { identity: '👍', emoji: '👍', users: [...users(0, 5_999), idOf(0)] },
        { identity: '🎉', emoji: '🎉', users: users(6_000, 4_000) },
      ];
      await at.api.platform.db.messages.updateOne({ _id: id }, { $set: { reactions } });
      for (const emoji of ['👍', '🎉', '❤']) {
        const refused = await call('PUT', emoji, at.other);
        expectError(refused, 400, 'too_many_reactions');
        expect(refused.body.message).to.equal('A message can have at most 10000 reactions in all. Remove one first.');
      }
      await done('PUT', '👍');
      await done('DELETE', '👍');
      await done('PUT', '❤', at.other);
      expectError(await call('PUT', '👍'), 400, 'too_many_reactions');
    });
  });

  describe('DELETE /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}', () => {
    it('204: takes one’s own, in either form; the last takes the emoji; nothing is left of them', async () => {
      for (const as of [at.bot, at.other, at.person]) await done('PUT', '❤', as);
      await done('DELETE', '❤\uFE0F', at.other);
      expect((await reactors('❤')).map((one) => one.id)).to.deep.equal([idOf(0), at.world.ownerId]);
      await done('DELETE', '❤');
      await done('DELETE', '❤\uFE0F', at.person);
      expect(await shown()).to.deep.equal([]);
      expect(await stored()).to.not.have.property('reactions');
      const removed = (await owed()).slice(3);
      expect(removed).to.deep.equal(
        [idOf(1), idOf(0), at.world.ownerId].map((userId) => ['REACTION_REMOVE', { userId, emoji: '❤\uFE0F' }]),
      );
    });

    it('204 for one that is not there or another’s: nothing changes and nothing is owed', async () => {
      await done('PUT', '👍');
      const before = await stored();
      await done('DELETE', '👍', at.other);
      await done('DELETE', '🎉');
      expect(await stored()).to.deep.equal(before);
      await at.withPermissions(view, () => done('DELETE', '👍'));
    });
  });

  describe('GET /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}', () => {
    it('200 with who reacted, oldest reaction first; none for an emoji that is not there', async () => {
      for (const as of [at.other, at.person, at.bot]) await done('PUT', '👍', as);
      const face = (userId: string, kind: string) => ({ id: userId, username: `${kind}_${userId}`, displayName: kind, avatarUrl: null });
      expect(await reactors('👍')).to.deep.equal([face(idOf(1), 'bot'), face(at.world.ownerId, 'person'), face(idOf(0), 'bot')]);
      await done('DELETE', '👍', at.other);
      await done('PUT', '👍', at.other);
      expect((await reactors('👍')).map((one) => one.id)).to.deep.equal([at.world.ownerId, idOf(0), idOf(1)]);
      for (const emoji of ['🎉', 'x:1']) expect(await reactors(emoji)).to.deep.equal([]);
    });

    it('the first 100 only; an account that is gone is shown as deleted', async () => {
      const users = [...Array.from({ length: 99 }, () => at.api.platform.ids.next()), idOf(0), idOf(1)];
      await at.api.platform.db.messages.updateOne({ _id: id }, { $set: { reactions: [{ identity: '👍', emoji: '👍', users }] } });
      const listed = await reactors('👍');
      expect(listed.map((one) => one.id)).to.deep.equal(users.slice(0, 100));
      expect(listed[0]).to.deep.equal({ id: users[0], username: 'deleted', displayName: 'Deleted account', avatarUrl: null });
      expect(listed[99]?.username).to.equal(`bot_${idOf(0)}`);
      expect((await shown(at.other))[0]).to.deep.equal({ emoji: '👍', count: 101, me: true });
    });
  });
});
