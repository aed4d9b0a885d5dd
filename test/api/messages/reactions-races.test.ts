import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { UserSummary } from '../../../lib/contract/user.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { withEveryone } from '../../harness/factories.ts';
import { inParallel, send, tally } from '../../harness/requests.ts';
import { botOf, ownerOf, seedServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';
import { messageCalls, type Reactors, storedMessage, storedReactions, storeReactions } from './message-fixture.ts';

interface ReactionEvent {
  name: string;
  data: { userId: string; emoji: string };
}

describe('parallel changes of reactions', () => {
  const api = use(startTestApi);
  const seeded = make(() => seedServer(api.platform, { bots: 100, channels: 1 }));
  const owner = make(() => Promise.resolve(ownerOf(seeded)));
  const channel = make(() => Promise.resolve({ id: seeded.channelIds[0] as string }));
  const { path, post, read } = messageCalls(api, channel, owner);
  const message = make(
    async () => {
      const made = await post('x');
      await api.platform.db.messages.updateOne({ _id: made.id }, { $unset: { outbox: 1, outboxAt: 1 } });
      return made;
    },
    { each: true },
  );

  const react = (bot: number, emoji: string, method = 'PUT'): Promise<Answer> =>
    api.call(method, `${path(message.id)}/reactions/${encodeURIComponent(emoji)}`, { as: botOf(seeded, bot).as });
  const stored = async (): Promise<{ reactions: Reactors; events: ReactionEvent[] }> => ({
    reactions: await storedReactions(api, message.id),
    events: ((await storedMessage(api, message.id))?.outbox ?? []) as ReactionEvent[],
  });
  const setStored = (reactors: Reactors) => storeReactions(api, message, reactors);
  /** Applies the pending events; returns who has reacted with what in the end. Every event must change something. */
  const replay = (events: readonly ReactionEvent[]): string[] => {
    const now = new Set<string>();
    for (const { name, data } of events) {
      const key = `${data.emoji} ${data.userId}`;
      expect(now.has(key), `${name} ${key}`).to.equal(name === 'REACTION_REMOVE');
      if (name === 'REACTION_ADD') now.add(key);
      else now.delete(key);
    }
    return [...now].toSorted();
  };
  const flatten = (reactions: Reactors): string[] =>
    Object.entries(reactions)
      .flatMap(([emoji, users]) => users.map((user) => `${emoji} ${user}`))
      .toSorted();

  it('of 40 new emoji after 19, one succeeds with one event; the others are refused with 400 too_many_reactions', async () => {
    await setStored(Object.fromEntries(Array.from({ length: 19 }, (_, n) => [`e:${n}`, ['1']])));
    const answers = await inParallel(40, (n) => react(n, `e:${100 + n}`));
    expect(tally(answers)).to.deep.equal({ 204: 1, 400: 39 });
    expect(answers.filter(({ status }) => status === 400).every(({ body }) => body.code === 'too_many_reactions')).to.equal(true);
    const { reactions, events } = await stored();
    expect([Object.keys(reactions).length, events.length]).to.deep.equal([20, 1]);
  });

  it('of 60 new emoji on a message without reactions, 20 succeed', async () => {
    expect(tally(await inParallel(60, (n) => react(n, `e:${n}`)))).to.deep.equal({ 204: 20, 400: 40 });
    expect(Object.keys((await stored()).reactions)).to.have.length(20);
  });

  it('100 people add one emoji: count 100, one event each, each listed once', async () => {
    expect(tally(await inParallel(100, (n) => react(n, '❤')))).to.deep.equal({ 204: 100 });
    const { reactions, events } = await stored();
    const people = seeded.bots.map((bot) => bot.id);
    expect(Object.keys(reactions)).to.deep.equal(['❤\uFE0F']);
    expect(reactions['❤\uFE0F']).to.have.members(people);
    expect(events.map(({ data }) => data.userId)).to.have.members(people);
    const listed = await send<UserSummary[]>(api, 200, owner, 'GET', `${path(message.id)}/reactions/${encodeURIComponent('❤')}`);
    expect(listed.map(({ id }) => id)).to.have.members(people);
  });

  it('one person adds an emoji 20 times: count 1, one event', async () => {
    expect(tally(await inParallel(20, (n) => react(0, n % 2 ? '❤' : '❤\uFE0F')))).to.deep.equal({ 204: 20 });
    const { reactions, events } = await stored();
    expect(reactions).to.deep.equal({ '❤\uFE0F': [seeded.bots[0]?.id] });
    expect(events).to.have.length(1);
  });

  it('one person removes a reaction 20 times: no reaction, one event', async () => {
    await react(0, '❤');
    expect(tally(await inParallel(20, () => react(0, '❤', 'DELETE')))).to.deep.equal({ 204: 20 });
    const { reactions, events } = await stored();
    expect([reactions, events.map(({ name }) => name)]).to.deep.equal([{}, ['REACTION_ADD', 'REACTION_REMOVE']]);
  });

  it('of 20 reactions after 9,999 in all, one succeeds', async () => {
    const users = Array.from({ length: 9_999 }, (_, n) => String(2_000_000_000_000_000_000n + BigInt(n)));
    await setStored({ '👍': users });
    expect(tally(await inParallel(20, (n) => react(n, n % 2 ? '👍' : '🎉')))).to.deep.equal({ 204: 1, 400: 19 });
    expect(flatten((await stored()).reactions)).to.have.length(10_000);
  });

  it('after 240 adds and removes, the stored reactions agree with the events, without a repeated person or an empty emoji', async () => {
    const emoji = ['👍', '🎉', '❤'];
    const answers = await inParallel(240, (n) => react(n % 8, emoji[n % 3] as string, (n * 7) % 5 < 3 ? 'PUT' : 'DELETE'));
    expect(tally(answers)).to.deep.equal({ 204: 240 });
    const { reactions, events } = await stored();
    expect(flatten(reactions)).to.deep.equal(replay(events));
    for (const users of Object.values(reactions)) expect(new Set(users).size).to.equal(users.length).and.above(0);
    expect((await read(message.id)).reactions.map(({ count }) => count)).to.deep.equal(
      Object.values(reactions).map((users) => users.length),
    );
  });

  it('the last person removes a reaction while others without Add Reactions add it: those with 204 are stored, those with 403 are not', async () => {
    const emoji = Array.from({ length: 20 }, (_, n) => `e:${n}`);
    await setStored(Object.fromEntries(emoji.map((one) => [one, [seeded.bots[0]?.id as string]])));
    const answers: { status: number; bot: number; key: string }[] = [];
    await withEveryone(api, owner, seeded.serverId, permissionBits['View Channel'], () =>
      inParallel(60, async (n) => {
        const bot = (n + 1) % 3;
        const { status } = await react(bot, emoji[n % 20] as string, bot === 0 ? 'DELETE' : 'PUT');
        answers.push({ status, bot, key: `${emoji[n % 20]} ${seeded.bots[bot]?.id}` });
      }),
    );
    expect(answers.every(({ status, bot }) => status === 204 || (status === 403 && bot !== 0))).to.equal(true);
    const { reactions, events } = await stored();
    const added = answers.filter(({ status, bot }) => status === 204 && bot !== 0);
    expect(flatten(reactions)).to.deep.equal(added.map(({ key }) => key).toSorted());
    const counts = new Map(emoji.map((one) => [one, 1]));
    for (const { name, data } of events) {
      const count = counts.get(data.emoji) ?? 0;
      expect(count, 'nobody adds a reaction after the last one was removed').to.be.above(0);
      counts.set(data.emoji, count + (name === 'REACTION_ADD' ? 1 : -1));
    }
  });

  it('a delete during 30 reactions: each gets 204 or 404, and the tombstone has no reactions', async () => {
    const [deleted, ...answers] = await inParallel(31, (n) =>
      n === 0 ? api.call('DELETE', path(message.id), { as: owner.as }) : react(n, '👍'),
    );
    expect(deleted?.status).to.equal(204);
    expect(answers.every(({ status }) => status === 204 || status === 404)).to.equal(true);
    expect((await stored()).reactions).to.deep.equal({});
  });
});
