import { expect } from 'chai';
import { mongo } from 'mongoose';
import { startTestApi } from '../../harness/api.ts';
import { monitoredUrl, onDatabaseCommand } from '../../harness/commands.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { testConfig } from '../../harness/stores.ts';
import { make, newBot, useServer } from '../../harness/use.ts';
import { messageCalls, storeReactions } from './message-fixture.ts';

describe('the cost of a reaction to a message with 10,000', () => {
  const { api, owner, server, bot } = useServer(
    { bot: newBot() },
    { start: () => startTestApi({ MONGODB_URL: monitoredUrl(testConfig().MONGODB_URL) }) },
  );
  const channel = make(() => Promise.resolve({ id: server.general }));
  const { path, post, list } = messageCalls(api, channel, owner);
  const message = make(async () => {
    const made = await post('x');
    const users = Array.from({ length: 9_998 }, (_, n) => String(2_000_000_000_000_000_000n + BigInt(n)));
    await storeReactions(api, made, { '👍': users.slice(0, 5_000), '🎉': users.slice(5_000), '❤': [owner.id] });
    return made;
  });
  /** The commands on messages and reactions, and the bytes of the documents and updates in them. */
  const sent = { commands: [] as string[], writtenBytes: 0 };
  before(() => {
    const isMessage = (name: unknown): name is string => name === 'messages' || name === 'reactions';
    onDatabaseCommand(api.platform, ({ command, commandName }) => {
      const collection: unknown = command[commandName];
      if (!isMessage(collection)) return;
      sent.commands.push(`${commandName} ${collection}`);
      const statements = (command.documents ?? command.updates ?? command.deletes) as mongo.Document | undefined;
      if (statements) sent.writtenBytes += mongo.BSON.calculateObjectSize(statements);
    });
  });
  const measure = async (act: () => Promise<unknown>): Promise<typeof sent> => {
    Object.assign(sent, { commands: [], writtenBytes: 0 });
    await act();
    return { ...sent };
  };
  const react =
    (as: Caller, emoji: string, method = 'PUT') =>
    () =>
      send(api, 204, as, method, `${path(message.id)}/reactions/${encodeURIComponent(emoji)}`);

  for (const [what, act] of [
    ['adding the 10,000th', react(bot, '👍')],
    ['removing it', react(bot, '👍', 'DELETE')],
    ['adding a new emoji', react(bot, '🔥')],
    ['removing the last reaction of an emoji', react(bot, '🔥', 'DELETE')],
  ] as const)
    it(`${what} writes at most 1 kB in two commands`, async () => {
      const { commands, writtenBytes } = await measure(act);
      expect(commands.filter((one) => !/^(find|aggregate) /.test(one))).to.have.length(2);
      expect(writtenBytes).to.be.at.most(1_024);
    });

  it('a list of messages takes one query for the reader’s reactions', async () => {
    const { commands } = await measure(() => list(bot));
    expect(commands).to.deep.equal(['find messages', 'find reactions']);
  });
});
