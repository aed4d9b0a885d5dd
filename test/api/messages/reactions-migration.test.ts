import { expect } from 'chai';
import type { Message } from '../../../lib/contract/message.ts';
import type { ReactionCounter } from '../../../lib/store/mongo/models/message.ts';
import { toReactionId } from '../../../lib/store/mongo/models/reaction.ts';
import { moveReactions } from '../../../lib/store/mongo/move-reactions.ts';
import { repeatMigrations } from '../../harness/migrations.ts';
import { send } from '../../harness/requests.ts';
import { storedReactions, useMessages } from './message-fixture.ts';

describe('the migration of reactions that are stored in their message', () => {
  const { api, owner, bot, path, post, read } = useMessages();

  /** Stores the reactions of a message as earlier versions did. */
  const storeOld = async ({ id }: Message, reactors: Record<string, string[]>): Promise<void> => {
    const reactions = Object.entries(reactors).map(([emoji, users]) => ({ identity: emoji, emoji, users }));
    await api.platform.db.messages.updateOne({ _id: id }, { $set: { reactions: reactions as unknown as ReactionCounter[] } });
  };

  it('moves them in their order, also after it was interrupted; a message without reactions stays as it is', async () => {
    const { messages, reactions } = api.platform.db;
    const [many, few, none] = [await post('many'), await post('few'), await post('none')];
    const users = Array.from({ length: 1_500 }, (_, n) => String(2_000_000_000_000_000_000n + BigInt(n)));
    const reactors = { '🎉': [owner.id, ...users], '👍': [bot.id] };
    await storeOld(many, reactors);
    await storeOld(few, { '👍': [owner.id] });
    const key = { messageId: many.id, userId: users[0] as string, identity: '🎉' };
    await reactions.insertOne({ _id: toReactionId(key), channelId: many.channelId, ...key, at: new Date(Date.parse(many.createdAt) + 1) });
    const untouched = await messages.findOne({ _id: none.id });

    for (let run = 0; run < 2; run++) {
      await repeatMigrations(api.platform);
      expect(await storedReactions(api, many.id)).to.deep.equal(reactors);
      expect(await storedReactions(api, few.id)).to.deep.equal({ '👍': [owner.id] });
      expect(await messages.findOne({ _id: none.id })).to.deep.equal(untouched);
    }
    expect((await read(many.id, owner)).reactions).to.deep.equal([
      { emoji: '🎉', count: 1_501, me: true },
      { emoji: '👍', count: 1, me: false },
    ]);
    await send(api, 204, owner, 'DELETE', `${path(many.id)}/reactions/${encodeURIComponent('🎉')}`);
    expect((await read(many.id, owner)).reactions[0]).to.deep.equal({ emoji: '🎉', count: 1_500, me: false });
  });

  it('two processes that move them at the same time do not disturb each other', async () => {
    const posted = await Promise.all(Array.from({ length: 20 }, (_, n) => post(`together ${n}`)));
    for (const message of posted) await storeOld(message, { '👍': [owner.id, bot.id] });
    const moveAll = async (): Promise<void> => {
      for await (const { count } of moveReactions(api.platform.db, '')) expect(count).to.be.greaterThan(0);
    };
    await Promise.all([moveAll(), moveAll()]);
    for (const { id } of posted) expect(await storedReactions(api, id)).to.deep.equal({ '👍': [owner.id, bot.id] });
  });
});
