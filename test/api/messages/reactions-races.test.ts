import { expect } from 'chai';
import type { Message } from '../../../lib/contract/message.ts';
import type { UserFace } from '../../../lib/contract/user.ts';
import type { StoredReaction } from '../../../lib/store/mongo/models/message.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { tally } from '../../harness/factories.ts';
import { makeWorld, type World } from '../../harness/world.ts';

interface Owed {
  name: string;
  data: { userId: string; emoji: string };
}

describe('reactions at once', () => {
  let api: TestApi;
  let world: World;
  let id: string;
  let path: string;
  before(async () => {
    api = await startTestApi();
    world = await makeWorld(api.platform, { bots: 100, channels: 1 });
    path = `/api/channels/${world.channelIds[0]}/messages`;
  });
  after(() => api.close());
  beforeEach(async () => {
    id = (await api.call<Message>('POST', path, { as: `Bearer ${world.ownerToken}`, body: { content: 'x' } })).body.id;
    await api.platform.db.messages.collection.updateOne({ _id: id as never }, { $unset: { ob: 1, obAt: 1 } });
  });

  const react = (bot: number, emoji: string, method = 'PUT'): Promise<Answer> =>
    api.call(method, `${path}/${id}/reactions/${encodeURIComponent(emoji)}`, { as: `Bot ${world.bots[bot]?.token}` });
  const many = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => make(n)));
  const stored = async (): Promise<{ reactions: StoredReaction[]; owed: Owed[] }> => {
    const found = await api.platform.db.messages.collection.findOne({ _id: id as never });
    return { reactions: found?.reactions ?? [], owed: found?.ob ?? [] };
  };
  const put = (reactions: StoredReaction[]) => api.platform.db.messages.updateOne({ _id: id }, { $set: { reactions } });
  /** Replays the owed events: who has reacted with what in the end. They must agree with what is stored, and none may be idle. */
  const replay = (owed: readonly Owed[]): string[] => {
    const now = new Set<string>();
    for (const { name, data } of owed) {
      const key = `${data.emoji} ${data.userId}`;
      expect(now.has(key), `${name} ${key}`).to.equal(name === 'REACTION_REMOVE');
      if (name === 'REACTION_ADD') now.add(key);
      else now.delete(key);
    }
    return [...now].toSorted();
  };
  const flat = (reactions: readonly StoredReaction[]): string[] =>
    reactions.flatMap(({ emoji, users }) => users.map((user) => `${emoji} ${user}`)).toSorted();

  it('40 new emoji at 19: exactly one more, the others 400 too_many_reactions; one event', async () => {
    await put(Array.from({ length: 19 }, (_, n) => ({ identity: String(n), emoji: `e:${n}`, users: ['1'] })));
    const answers = await many(40, (n) => react(n, `e:${100 + n}`));
    expect(tally(answers)).to.deep.equal({ 204: 1, 400: 39 });
    expect(answers.filter(({ status }) => status === 400).every(({ body }) => body.code === 'too_many_reactions')).to.equal(true);
    const { reactions, owed } = await stored();
    expect([reactions.length, owed.length]).to.deep.equal([20, 1]);
  });

  it('60 new emoji on an empty message: exactly 20', async () => {
    expect(tally(await many(60, (n) => react(n, `e:${n}`)))).to.deep.equal({ 204: 20, 400: 40 });
    expect((await stored()).reactions).to.have.length(20);
  });

  it('100 join one emoji at once: count 100, each once, each told once; the list has them in the same order', async () => {
    expect(tally(await many(100, (n) => react(n, '❤')))).to.deep.equal({ 204: 100 });
    const { reactions, owed } = await stored();
    expect(reactions).to.have.length(1);
    expect(reactions[0]?.users).to.have.members(world.bots.map((bot) => bot.id));
    expect(owed.map(({ data }) => data.userId)).to.deep.equal(reactions[0]?.users);
    const listed = await react(0, '❤', 'GET');
    expect((listed.body as unknown as UserFace[]).map((one) => one.id)).to.deep.equal(reactions[0]?.users);
  });

  it('the same user 20 times at once: count 1, one event', async () => {
    expect(tally(await many(20, (n) => react(0, n % 2 ? '❤' : '❤\uFE0F')))).to.deep.equal({ 204: 20 });
    const { reactions, owed } = await stored();
    expect(reactions).to.deep.equal([{ identity: '❤', emoji: '❤\uFE0F', users: [world.bots[0]?.id] }]);
    expect(owed).to.have.length(1);
  });

  it('the same user takes it back 20 times at once: one event, nothing left', async () => {
    await react(0, '❤');
    expect(tally(await many(20, () => react(0, '❤', 'DELETE')))).to.deep.equal({ 204: 20 });
    const { reactions, owed } = await stored();
    expect([reactions, owed.map((one) => one.name)]).to.deep.equal([[], ['REACTION_ADD', 'REACTION_REMOVE']]);
  });

  it('20 at 9,999 in all: exactly one more', async () => {
    const users = Array.from({ length: 9_999 }, (_, n) => String(2_000_000_000_000_000_000n + BigInt(n)));
    await put([{ identity: '👍', emoji: '👍', users }]);
    expect(tally(await many(20, (n) => react(n, n % 2 ? '👍' : '🎉')))).to.deep.equal({ 204: 1, 400: 19 });
    expect(flat((await stored()).reactions)).to.have.length(10_000);
  });

  it('a storm of adds and removes: what is stored is what the events tell, nobody twice, no empty emoji', async () => {
    const emoji = ['👍', '🎉', '❤'];
    const answers = await many(240, (n) => react(n % 8, emoji[n % 3] as string, (n * 7) % 5 < 3 ? 'PUT' : 'DELETE'));
    expect(tally(answers)).to.deep.equal({ 204: 240 });
    const { reactions, owed } = await stored();
    expect(flat(reactions)).to.deep.equal(replay(owed));
    for (const { users } of reactions) expect(new Set(users).size).to.equal(users.length).and.above(0);
    const { body } = await api.call<Message>('GET', `${path}/${id}`, { as: `Bearer ${world.ownerToken}` });
    expect(body.reactions.map((one) => one.count)).to.deep.equal(reactions.map(({ users }) => users.length));
  });

  it('the last reactor leaves while others without Add Reactions join: whoever got 403 is not there, whoever got 204 is', async () => {
    const setEveryone = (permissions: number) =>
      api.platform.versions.changing({ servers: [world.serverId] }, () =>
        api.platform.db.servers.updateOne({ _id: world.serverId }, { $set: { 'roles.0.permissions': permissions } }),
      );
    const emoji = Array.from({ length: 20 }, (_, n) => `e:${n}`);
    await put(emoji.map((one, n) => ({ identity: String(n), emoji: one, users: [world.bots[0]?.id as string] })));
    await setEveryone(1);
    const answers = await many(60, async (n) => {
      const bot = (n + 1) % 3;
      const { status } = await react(bot, emoji[n % 20] as string, bot === 0 ? 'DELETE' : 'PUT');
      return { status, bot, key: `${emoji[n % 20]} ${world.bots[bot]?.id}` };
    });
    await setEveryone(15);
    expect(answers.every(({ status, bot }) => status === 204 || (status === 403 && bot !== 0))).to.equal(true);
    const { reactions, owed } = await stored();
    const joined = answers.filter(({ status, bot }) => status === 204 && bot !== 0);
    expect(flat(reactions)).to.deep.equal(joined.map(({ key }) => key).toSorted());
    const standing = new Map(emoji.map((one) => [one, 1]));
    for (const { name, data } of owed) {
      const before = standing.get(data.emoji) ?? 0;
      expect(before, 'held up by somebody').to.be.above(0);
      standing.set(data.emoji, before + (name === 'REACTION_ADD' ? 1 : -1));
    }
  });

  it('a delete meets 30 reactions: 204 or 404, and nothing stands on the grave', async () => {
    const [gone, ...answers] = await many(31, (n) =>
      n === 0 ? api.call('DELETE', `${path}/${id}`, { as: `Bearer ${world.ownerToken}` }) : react(n, '👍'),
    );
    expect(gone?.status).to.equal(204);
    expect(answers.every(({ status }) => status === 204 || status === 404)).to.equal(true);
    expect((await stored()).reactions).to.deep.equal([]);
  });
});
