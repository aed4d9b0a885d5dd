import { expect } from 'chai';
import { sweepReactions } from '../../lib/domain/messages/reaction-changes.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { type ReactionDoc, toReactionId } from '../../lib/store/mongo/models/reaction.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { messageCalls, storedReactions } from '../api/messages/message-fixture.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { entriesOf } from '../harness/log.ts';
import { sendFatal, useOwnProcess } from '../harness/own-process.ts';
import { send } from '../harness/requests.ts';
import { make, useServer } from '../harness/use.ts';

const thumb = encodeURIComponent('👍');

/** What a killed process has left: the reaction, and the fields of its message that a change of a reaction writes. */
interface Remains {
  reaction: ReactionDoc;
  fields: Pick<MessageDoc, 'reactions' | 'reactionCount' | 'outbox' | 'outboxAt'>;
}

describe('reactions: an api process killed in between', () => {
  const { api, owner, server } = useServer({}, { start: startTestApiWithWorker });
  const start = useOwnProcess(() => api.platform.config);
  const channel = make(() => Promise.resolve({ id: server.general }));
  const { path, post } = messageCalls(api, channel, owner);
  const message = make(() => post('x'), { each: true });

  const reactionPath = (): string => `${path(message.id)}/reactions/${thumb}`;
  const isPending = async (): Promise<boolean> => (await api.platform.db.reactions.countDocuments({ eventId: { $exists: true } })) > 0;
  /** Makes the pending changes ten minutes older. */
  const age = () => {
    const earlier = (field: string) => ({ $subtract: [field, 600_000] });
    return api.platform.db.reactions.updateMany({ eventId: { $exists: true } }, [
      { $set: { at: earlier('$at'), removingAt: { $ifNull: [earlier('$removingAt'), '$$REMOVE'] } } },
    ]);
  };
  const events = async (): Promise<string[]> => {
    await relayEvents(api.worker, 'channel', server.general);
    const logged = await entriesOf(api.platform.config, serverPlace(server.id));
    return logged.flatMap(({ name, data }) => (data.messageId === message.id ? [name] : []));
  };
  const sweep = async (): Promise<void> => {
    await age();
    await sweepReactions(api.worker);
  };
  const relay = async (): Promise<void> => void (await events());
  const retry = (method: string) => async (): Promise<void> => {
    await age();
    await send(api, 204, owner, method, reactionPath());
    await relay();
  };

  const remainsOf = async (messageId: string): Promise<Remains> => {
    const { messages, reactions } = api.platform.db;
    const projection = { _id: 0, reactions: 1, reactionCount: 1, outbox: 1, outboxAt: 1 };
    const fields = (await messages.findOne({ _id: messageId }, { projection })) ?? expect.fail();
    return { reaction: (await reactions.findOne({ messageId })) ?? expect.fail(), fields };
  };
  /** Makes the state of the message the one that a killed process has left of another message, with an event of its own. */
  const copyRemains = async ({ reaction, fields }: Remains): Promise<void> => {
    const { messages, reactions } = api.platform.db;
    const [eventId, messageId] = [api.platform.ids.next(), message.id];
    const outbox = fields.outbox?.map((entry) => (entry.id === reaction.eventId ? { ...entry, id: eventId } : entry));
    await messages.updateOne({ _id: messageId }, { $set: { ...fields, ...(outbox && { outbox }) } });
    await reactions.deleteMany({ messageId });
    await reactions.insertOne({ ...reaction, messageId, eventId, _id: toReactionId({ ...reaction, messageId }) });
  };
  const killed = new Map<string, Remains>();

  for (const [failpoint, method, by, repair, reacted, sent] of [
    ['after-reaction-begin', 'PUT', 'the sweep', sweep, false, []],
    ['after-reaction-write', 'PUT', 'the sweep', sweep, true, ['REACTION_ADD']],
    ['after-reaction-write', 'PUT', 'the relay', relay, true, ['REACTION_ADD']],
    ['after-reaction-begin', 'PUT', 'another try', retry('PUT'), true, ['REACTION_ADD']],
    ['after-reaction-begin', 'PUT', 'a removal', retry('DELETE'), false, []],
    ['after-reaction-begin', 'DELETE', 'the sweep', sweep, true, []],
    ['after-reaction-write', 'DELETE', 'the sweep', sweep, false, ['REACTION_REMOVE']],
    ['after-reaction-write', 'DELETE', 'the relay', relay, false, ['REACTION_REMOVE']],
    ['after-reaction-begin', 'DELETE', 'another try', retry('DELETE'), false, ['REACTION_REMOVE']],
    ['after-reaction-begin', 'DELETE', 'an addition', retry('PUT'), true, []],
  ] as const)
    it(`${method}, ${failpoint}: ${by} makes message and reactions agree, and each change is sent once`, async () => {
      if (method === 'DELETE') {
        await send(api, 204, owner, 'PUT', reactionPath());
        await relay();
      }
      const before = await events();
      // One process dies in each state; the other repairs begin with a copy of what it has left.
      const state = `${method} ${failpoint}`;
      const remains = killed.get(state);
      if (remains) await copyRemains(remains);
      else {
        await sendFatal(await start('api', failpoint), owner.as, method, reactionPath());
        killed.set(state, await remainsOf(message.id));
      }
      expect(await isPending()).to.equal(true);
      await sweepReactions(api.worker); // it is too early
      expect(await isPending()).to.equal(true);
      await repair();
      expect(await isPending()).to.equal(false);
      expect(await storedReactions(api, message.id)).to.deep.equal(reacted ? { '👍': [owner.id] } : {});
      expect(await events()).to.deep.equal([...before, ...sent]);
      await sweep();
      expect(await storedReactions(api, message.id)).to.deep.equal(reacted ? { '👍': [owner.id] } : {});
    });
});
