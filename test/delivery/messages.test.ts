import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { type EventRecorder, startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { newBot, newMember, useServer } from '../harness/use.ts';

/** The events that the bot opts in to. People receive more, such as presence. */
const optIns = ['REACTION_ADD', 'REACTION_REMOVE', 'PINS_UPDATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE'];

describe('Events: messages, reactions and pins', () => {
  const fixture = useServer({ member: newMember(), bot: newBot(), reactor: newBot() }, { start: startParlance });
  const { api: parlance, owner, server, member, bot, reactor } = fixture;
  const botRecorder = useRecorder(parlance, bot, optIns);
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
    const [one, two] = [await post(bot, { content: 'a', nonce: 'n' }), await post(bot, { content: 'a', nonce: 'n' })];
    const none = await post(bot, { content: 'a' });
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

  const request = (method: string, url: string, as: Caller): Promise<void> => send(parlance, 204, as, method, url);
  const postText = async (content: string): Promise<string> => (await post(owner, { content })).id;
  const reaction = (id: string, emoji: string): string => `${path(id)}/reactions/${encodeURIComponent(emoji)}`;
  const pin = (id: string): string => `/api/channels/${server.general}/pins/${id}`;
  /** Posts a message, runs `act` with it, posts another one, and returns the events of messages, reactions and pins between the posts. */
  const eventsDuring = async (recorder: EventRecorder, content: string, act: (id: string) => Promise<void>): Promise<Dispatch[]> => {
    const id = await postText(content);
    await recorder.waitFor((event) => event.d.id === id);
    const from = recorder.received.length;
    await act(id);
    const last = await postText(`${content}, the end`);
    await recorder.waitFor((event) => event.d.id === last);
    return recorder.received.slice(from).filter(({ t, d }) => d.id !== last && (t === 'MESSAGE_CREATE' || optIns.includes(t)));
  };

  for (const [who, recorder] of [
    ['an opted-in bot', botRecorder],
    ['a person', ownerRecorder],
  ] as const)
    it(`${who} receives REACTION_ADD, REACTION_REMOVE and PINS_UPDATE once each, in order`, async () => {
      let messageId = '';
      const received = await eventsDuring(recorder, `for ${who}`, async (id) => {
        messageId = id;
        await request('PUT', reaction(id, '❤'), reactor);
        await request('PUT', reaction(id, '❤\uFE0F'), reactor);
        await request('PUT', reaction(id, '❤\uFE0F'), owner);
        await request('PUT', pin(id), owner);
        await request('PUT', pin(id), owner);
        await request('DELETE', reaction(id, '❤'), reactor);
        await request('DELETE', reaction(id, '❤'), reactor);
        await request('DELETE', pin(id), owner);
        await request('DELETE', reaction(id, '❤'), owner);
      });
      const place = { serverId: server.id, channelId: server.general };
      const reactionBy = (userId: string) => ({ ...place, messageId, userId, emoji: '❤\uFE0F' });
      expect(received.map(({ t, d }) => [t, d])).to.deep.equal([
        ['REACTION_ADD', reactionBy(reactor.id)],
        ['REACTION_ADD', reactionBy(owner.id)],
        ['PINS_UPDATE', place],
        ['REACTION_REMOVE', reactionBy(reactor.id)],
        ['PINS_UPDATE', place],
        ['REACTION_REMOVE', reactionBy(owner.id)],
      ]);
    });

  it('deleting a pinned message sends MESSAGE_DELETE and PINS_UPDATE, an unpinned one no PINS_UPDATE', async () => {
    const received = await eventsDuring(botRecorder, 'to go', async (id) => {
      const other = await postText('unpinned');
      await request('PUT', pin(id), owner);
      await request('DELETE', path(id), owner);
      await request('DELETE', path(other), owner);
    });
    const names = received.map((event) => event.t).filter((name) => name !== 'MESSAGE_CREATE');
    expect(names.toSorted()).to.deep.equal(['MESSAGE_DELETE', 'MESSAGE_DELETE', 'PINS_UPDATE', 'PINS_UPDATE']);
  });
});
