import { expect } from 'chai';
import { sweepReactions } from '../../lib/domain/messages/reaction-changes.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { messageCalls, storedMessage, storedReactions, storeReactions } from '../api/messages/message-fixture.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { copiesOf, makeFollowing, nextChunk } from '../harness/crosspost.ts';
import { postMessage } from '../harness/factories.ts';
import { type Caller, refused, send } from '../harness/requests.ts';
import { ownerOf } from '../harness/seed.ts';
import { make, newBot, useServer } from '../harness/use.ts';

describe('stored reactions', () => {
  const { api, owner, server, bot } = useServer({ bot: newBot() }, { start: startTestApiWithWorker });
  const channel = make(() => Promise.resolve({ id: server.general }));
  const { path, post, read, remove } = messageCalls(api, channel, owner);
  const message = make(() => post('x'), { each: true });
  const react = (as: Caller, method = 'PUT', status = 204) => send(api, status, as, method, `${path(message.id)}/reactions/👍`);
  const relay = (channelId = server.general) => relayEvents(api.worker, 'channel', channelId);
  const countOf = (messageId: string): Promise<number> => api.platform.db.reactions.countDocuments({ messageId });
  const people = (count: number): string[] => Array.from({ length: count }, () => api.platform.ids.next());

  it('are complete once their events were relayed; a reaction that was removed is deleted', async () => {
    await react(owner);
    await react(bot);
    await react(bot, 'DELETE');
    expect(await countOf(message.id)).to.equal(2);
    await relay();
    const left = await api.platform.db.reactions.find({ messageId: message.id }).toArray();
    expect(left.map(({ userId, eventId, removingAt }) => [userId, eventId, removingAt])).to.deep.equal([[owner.id, undefined, undefined]]);
    expect(await storedReactions(api, message.id)).to.deep.equal({ '👍': [owner.id] });
  });

  it('a relayed change does not complete a later one of the same account', async () => {
    const acknowledged = api.worker.eventLog.acknowledge;
    await react(owner);
    let changed = false;
    Object.assign(api.worker.eventLog, {
      acknowledge: async (...args: Parameters<typeof acknowledged>) => {
        if (!changed) await react(owner, 'DELETE');
        if (!changed) await react(owner);
        changed = true;
        return acknowledged(...args);
      },
    });
    await relay();
    Object.assign(api.worker.eventLog, { acknowledge: acknowledged });
    await relay();
    expect(await storedReactions(api, message.id)).to.deep.equal({ '👍': [owner.id] });
    expect((await read(message.id)).reactions).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
  });

  it('503 while an earlier change of the same reaction is neither in effect nor overdue', async () => {
    await react(owner);
    await relay();
    await api.platform.db.reactions.updateOne({ messageId: message.id }, { $set: { eventId: '1', removingAt: new Date() } });
    await Promise.all(
      ['PUT', 'DELETE'].map((method) => refused(api, [503, 'unavailable'], owner, method, `${path(message.id)}/reactions/👍`)),
    );
    expect((await read(message.id)).reactions).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
  });

  it('of a deleted message are deleted in batches, and then its tombstone; those of other messages stay', async () => {
    const other = await post('other');
    await storeReactions(api, message, { '👍': people(1_500), '🎉': people(900) });
    await storeReactions(api, other, { '👍': [owner.id] });
    await remove(message.id);
    await sweepReactions(api.worker);
    expect(await countOf(message.id)).to.equal(2_400); // the deletion is not relayed yet
    await relay();
    expect(await storedMessage(api, message.id)).to.include({ deleted: true, reactionCount: 2_400 });
    await sweepReactions(api.worker);
    expect([await countOf(message.id), await storedMessage(api, message.id)]).to.deep.equal([0, null]);
    expect(await storedReactions(api, other.id)).to.deep.equal({ '👍': [owner.id] });
  });

  it('the tombstone of a copy stays until its crosspost no longer needs it', async () => {
    const { from, to, news, targets } = await makeFollowing(api.platform, 51);
    const { id } = await postMessage(api, ownerOf(from), news);
    await send(api, 200, ownerOf(from), 'POST', `/api/channels/${news}/messages/${id}/crosspost`);
    await nextChunk(api.worker, id);
    await api.platform.db.messages.updateOne({ _id: id }, { $unset: { crosspostTo: 1 } }); // as if the mark was lost
    const [copy] = await copiesOf(api.platform, id);
    const copyPath = `/api/channels/${targets[0]}/messages/${copy?._id}`;
    await send(api, 204, ownerOf(to), 'PUT', `${copyPath}/reactions/👍`);
    await send(api, 204, ownerOf(to), 'DELETE', copyPath);
    await relay(targets[0]);
    await sweepReactions(api.worker);
    expect(await countOf(copy?._id as string)).to.equal(0);
    expect(await storedMessage(api, copy?._id as string)).to.include({ deleted: true });
    while (await nextChunk(api.worker, id)) await sweepReactions(api.worker);
    await sweepReactions(api.worker);
    expect(await api.platform.db.messages.countDocuments({ copyOf: id, deleted: true })).to.equal(0);
    expect(await copiesOf(api.platform, id)).to.have.length(50);
  });
});
