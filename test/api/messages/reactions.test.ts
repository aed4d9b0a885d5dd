import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { UserSummary } from '../../../lib/contract/user.ts';
import { unknownId, withEveryone } from '../../harness/factories.ts';
import { type Caller, refused, refusedWithout, send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';
import { storedMessage, storedReactions, storeReactions, useMessages } from './message-fixture.ts';

const { 'View Channel': viewChannel, 'Send Messages': sendMessages } = permissionBits;

describe('reactions', () => {
  const { api, owner, server, bot, other, path, post, edit, read, list } = useMessages();
  const message = make(() => post('x'), { each: true });

  const reactionPath = (emoji: string, messageId = message.id): string => `${path(messageId)}/reactions/${encodeURIComponent(emoji)}`;
  const add = (emoji: string, as: Caller = bot): Promise<void> => send(api, 204, as, 'PUT', reactionPath(emoji));
  const take = (emoji: string, as: Caller = bot): Promise<void> => send(api, 204, as, 'DELETE', reactionPath(emoji));
  const reactors = (emoji: string): Promise<UserSummary[]> => send(api, 200, bot, 'GET', reactionPath(emoji));
  const reactorIds = async (emoji: string): Promise<string[]> => (await reactors(emoji)).map(({ id }) => id);
  const shown = async (as?: Caller): Promise<Message['reactions']> => (await read(message.id, as)).reactions;
  const counts = async () => (await shown()).map(({ emoji, count }) => [emoji, count]);
  const stored = () => storedMessage(api, message.id);
  const pending = async () => ((await stored())?.outbox ?? []).map(({ name, data }) => [name, data] as [string, { emoji: string }]);
  const pendingEmoji = async () => (await pending()).map(([name, { emoji }]) => [name, emoji]);

  describe('PUT /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}', () => {
    it('204; single reads and lists show the count and the reader’s `me`; adds a REACTION_ADD event; editedAt stays null', async () => {
      await add('👍');
      await add('👍', owner);
      await add('🎉', owner);
      for (const [as, thumb, party] of [
        [bot, true, false],
        [owner, true, true],
        [other, false, false],
      ] as const) {
        const reactions = [
          { emoji: '👍', count: 2, me: thumb },
          { emoji: '🎉', count: 1, me: party },
        ];
        expect(await shown(as)).to.deep.equal(reactions);
        expect((await list(as, '?limit=1'))[0]).to.deep.include({ id: message.id, reactions, editedAt: null });
      }
      const data = (userId: string, emoji: string) => ['REACTION_ADD', { userId, emoji }];
      expect(await pending()).to.deep.equal([data(bot.id, '👍'), data(owner.id, '👍'), data(owner.id, '🎉')]);
    });

    it('the responses of a post and an edit show reactions', async () => {
      expect((await post('new')).reactions).to.deep.equal([]);
      await add('👍', other);
      expect((await edit(message.id, { content: 'y' })).reactions).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
    });

    it('204 for an emoji one has already reacted with, without a change or an event', async () => {
      await add('👍');
      const before = await stored();
      await add('👍');
      expect(await stored()).to.deep.equal(before);
    });

    it('❤ and ❤️ are the same emoji, fully qualified in reads and events; skin tones are different emoji', async () => {
      await add('❤');
      await add('❤\uFE0F', other);
      for (const emoji of ['👍', '👍🏽', '👍🏿', '#\uFE0F\u20E3']) await add(emoji);
      expect(await counts()).to.deep.equal([
        ['❤\uFE0F', 2],
        ['👍', 1],
        ['👍🏽', 1],
        ['👍🏿', 1],
        ['#\uFE0F\u20E3', 1],
      ]);
      expect((await pendingEmoji()).slice(0, 2)).to.deep.equal([
        ['REACTION_ADD', '❤\uFE0F'],
        ['REACTION_ADD', '❤\uFE0F'],
      ]);
    });

    it('a custom emoji is identified by its id; reads and events show the name it was first added with', async () => {
      await add('wave:77');
      await add('hello:77', other);
      await add('wave:78');
      expect(await counts()).to.deep.equal([
        ['wave:77', 2],
        ['wave:78', 1],
      ]);
      await take('ciao:77');
      expect(await pendingEmoji()).to.deep.equal([
        ['REACTION_ADD', 'wave:77'],
        ['REACTION_ADD', 'wave:77'],
        ['REACTION_ADD', 'wave:78'],
        ['REACTION_REMOVE', 'wave:77'],
      ]);
    });

    it('403 missing_permission for a new emoji without Add Reactions; 204 while another has reacted with it', async () => {
      await add('👍', owner);
      await withEveryone(api, owner, server.id, viewChannel, async () => {
        await refusedWithout(api, 'Add Reactions', bot, 'PUT', reactionPath('🎉'));
        await add('👍');
        await take('👍', owner);
        await add('👍');
        await take('👍');
        await refused(api, [403, 'missing_permission'], bot, 'PUT', reactionPath('👍'));
        await refused(api, [404, 'not_found'], bot, 'PUT', reactionPath('👍', unknownId));
      });
    });

    it('400 too_many_reactions for the 21st emoji, 204 for one of the 20, 403 without Add Reactions', async () => {
      for (let n = 0; n < 20; n++) await add(`e:${n}`);
      const error = await refused(api, [400, 'too_many_reactions'], other, 'PUT', reactionPath('👍'));
      expect(error.message).to.equal('A message can have at most 20 different reactions. Remove one first.');
      await add('e:19', other);
      await withEveryone(api, owner, server.id, viewChannel | sendMessages, () =>
        refused(api, [403, 'missing_permission'], other, 'PUT', reactionPath('👍')),
      );
      await take('e:0');
      await add('👍', other);
    });

    it('400 too_many_reactions above 10,000 reactions in all; 204 for an existing reaction', async () => {
      const users = (from: number, count: number) =>
        Array.from({ length: count }, (_, n) => String(2_000_000_000_000_000_000n + BigInt(from + n)));
      await storeReactions(api, message, { '👍': [...users(0, 5_999), bot.id], '🎉': users(6_000, 4_000) });
      for (const emoji of ['👍', '🎉', '❤']) {
        const error = await refused(api, [400, 'too_many_reactions'], other, 'PUT', reactionPath(emoji));
        expect(error.message).to.equal('A message can have at most 10000 reactions in total. Remove one first.');
      }
      await add('👍');
      await take('👍');
      await add('❤', other);
      await refused(api, [400, 'too_many_reactions'], bot, 'PUT', reactionPath('👍'));
    });
  });

  describe('DELETE /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}', () => {
    it('204 removes one’s own reaction, in either form of the emoji; the last removal removes the emoji', async () => {
      for (const as of [bot, other, owner]) await add('❤', as);
      await take('❤\uFE0F', other);
      expect(await reactorIds('❤')).to.deep.equal([bot.id, owner.id]);
      await take('❤');
      await take('❤\uFE0F', owner);
      expect(await shown()).to.deep.equal([]);
      expect(await storedReactions(api, message.id)).to.deep.equal({});
      const removed = (await pending()).slice(3);
      expect(removed).to.deep.equal([other.id, bot.id, owner.id].map((userId) => ['REACTION_REMOVE', { userId, emoji: '❤\uFE0F' }]));
    });

    it('204 for an emoji one has not reacted with, without a change or an event', async () => {
      await add('👍');
      const before = await stored();
      await take('👍', other);
      await take('🎉');
      expect(await stored()).to.deep.equal(before);
      await withEveryone(api, owner, server.id, viewChannel, () => take('👍'));
    });
  });

  describe('GET /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}', () => {
    it('200 with the people who reacted, oldest reaction first; empty for an emoji without reactions', async () => {
      for (const as of [other, owner, bot]) await add('👍', as);
      const summaryOf = ({ id, username }: Caller) => ({ id, username, displayName: username, avatarUrl: null });
      expect(await reactors('👍')).to.deep.equal([other, owner, bot].map(summaryOf));
      await take('👍', other);
      await add('👍', other);
      expect(await reactorIds('👍')).to.deep.equal([owner.id, bot.id, other.id]);
      for (const emoji of ['🎉', 'x:1']) expect(await reactors(emoji)).to.deep.equal([]);
    });

    it('at most 100 people; a deleted account is shown as deleted', async () => {
      const users = [...Array.from({ length: 99 }, () => api.platform.ids.next()), bot.id, other.id];
      await storeReactions(api, message, { '👍': users });
      const listed = await reactors('👍');
      expect(listed.map((one) => one.id)).to.deep.equal(users.slice(0, 100));
      expect(listed[0]).to.deep.equal({ id: users[0], username: 'deleted', displayName: 'Deleted account', avatarUrl: null });
      expect(listed[99]?.username).to.equal(bot.username);
      expect((await shown(other))[0]).to.deep.equal({ emoji: '👍', count: 101, me: true });
    });
  });
});
