import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { openDm } from '../harness/factories.ts';
import { startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { newBot, newMember, useServer } from '../harness/use.ts';

describe('Events: messages', () => {
  const {
    api: parlance,
    owner,
    server,
    member,
    bot,
  } = useServer({ member: newMember(), bot: newBot() }, { start: () => startParlance({ RATE_LIMIT: 'off' }) });
  const botRecorder = useRecorder(parlance, bot, ['MESSAGE_UPDATE', 'MESSAGE_DELETE']);
  const ownerRecorder = useRecorder(parlance, owner);
  const memberRecorder = useRecorder(parlance, member);
  const recorders = [botRecorder, ownerRecorder, memberRecorder];
  const path = (id = ''): string => `/api/channels/${server.general}/messages${id && `/${id}`}`;

  const receivedByAll = async (name: string, id: string): Promise<Record<string, unknown>[]> =>
    (await waitForAll(recorders, (event) => event.t === name && event.d.id === id)).map(({ d }) => d);
  const post = (as: Caller, body: object): Promise<Message> => send(parlance, 201, as, 'POST', path(), body);
  const read = (id: string): Promise<Message> => send(parlance, 200, owner, 'GET', path(id));

  for (const who of ['bot', 'person'] as const)
    it(`the ${who} who posts receives MESSAGE_CREATE too, with serverId and the nonce, which later reads do not have`, async () => {
      const made = await post(who === 'bot' ? bot : owner, { content: '😀', nonce: '😀 1' });
      expect(made.nonce).to.equal('😀 1');
      for (const event of await receivedByAll('MESSAGE_CREATE', made.id)) expect(event).to.deep.equal({ ...made, serverId: server.id });
      const { nonce: _, ...later } = made;
      expect(await read(made.id)).to.deep.equal(later);
      expect((await send<Message[]>(parlance, 200, owner, 'GET', path())).at(-1)).to.deep.equal(later);
      const edited = await send<Message>(parlance, 200, who === 'bot' ? bot : owner, 'PATCH', path(made.id), { content: 'b' });
      expect(edited).to.not.have.property('nonce');
      for (const event of await receivedByAll('MESSAGE_UPDATE', made.id)) expect(event).to.deep.equal({ ...edited, serverId: server.id });
    });

  it('two posts with one nonce are two messages; a post without a nonce is sent without one', async () => {
    const [one, two, none] = [
      await post(bot, { content: 'a', nonce: 'n' }),
      await post(bot, { content: 'a', nonce: 'n' }),
      await post(bot, { content: 'a' }),
    ];
    expect(one.id).to.not.equal(two.id);
    for (const { id } of [one, two]) for (const event of await receivedByAll('MESSAGE_CREATE', id)) expect(event.nonce).to.equal('n');
    for (const event of await receivedByAll('MESSAGE_CREATE', none.id)) expect(event).to.not.have.property('nonce');
  });

  it('reactions in events have me: false for everyone', async () => {
    const made = await post(bot, { content: 'a' });
    await send(parlance, 204, bot, 'PUT', `${path(made.id)}/reactions/${encodeURIComponent('👍')}`);
    const edited = await send<Message>(parlance, 200, bot, 'PATCH', path(made.id), { content: 'b' });
    expect(edited.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    for (const event of await receivedByAll('MESSAGE_UPDATE', made.id))
      expect(event.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
  });

  it('an edit with new mentions sends MESSAGE_UPDATE and no second MESSAGE_CREATE', async () => {
    const made = await post(bot, { content: 'a' });
    await receivedByAll('MESSAGE_CREATE', made.id);
    await send(parlance, 200, bot, 'PATCH', path(made.id), { content: `<@${member.id}>` });
    for (const event of await receivedByAll('MESSAGE_UPDATE', made.id)) expect(event.mentions).to.deep.equal([member.id]);
    const last = await post(bot, { content: 'last' });
    await receivedByAll('MESSAGE_CREATE', last.id);
    for (const { received } of recorders)
      expect(received.filter((event) => event.t === 'MESSAGE_CREATE' && event.d.id === made.id)).to.have.length(1);
  });

  it('a reply is sent with its preview, and with replyDeleted after the original was deleted', async () => {
    const original = await post(member, { content: '😀'.repeat(201) });
    const reply = await post(bot, { content: 'r', replyTo: original.id });
    for (const event of await receivedByAll('MESSAGE_CREATE', reply.id)) {
      expect(event.reply).to.deep.equal({ id: original.id, author: original.author, content: '😀'.repeat(200), hasAttachments: false });
      expect(event)
        .to.include({ replyDeleted: false })
        .and.deep.include({ mentions: [member.id] });
    }
    await send(parlance, 204, member, 'DELETE', path(original.id));
    for (const event of await receivedByAll('MESSAGE_DELETE', original.id))
      expect(event).to.deep.equal({ id: original.id, channelId: server.general, serverId: server.id });
    await send(parlance, 200, bot, 'PATCH', path(reply.id), { content: 'still' });
    for (const event of await receivedByAll('MESSAGE_UPDATE', reply.id)) {
      expect(event.replyDeleted).to.equal(true);
      expect(event).to.not.have.property('reply');
    }
  });

  it('MESSAGE_CREATE in a DM has no serverId, and nobody else receives it', async () => {
    const { id } = await openDm(parlance, member, bot);
    const made = await send<Message>(parlance, 201, member, 'POST', `/api/channels/${id}/messages`, { content: 'x', nonce: 'n' });
    for (const { d } of await waitForAll([botRecorder, memberRecorder], (event) => event.d.id === made.id)) expect(d).to.deep.equal(made);
    const last = await post(bot, { content: 'last' });
    await receivedByAll('MESSAGE_CREATE', last.id);
    expect(ownerRecorder.received.filter((event) => event.d.channelId === id)).to.deep.equal([]);
  });
});
