import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { type Bot, type Caller, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

describe('what events tell of messages', () => {
  let whole: Whole;
  let owner: Caller;
  let member: Caller;
  let server: Place;
  let bot: Bot;
  let path: string;
  let ears: Ear[];

  before(async () => {
    whole = await startWhole({ RATE_LIMIT: 'off' });
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    member = await makeMember(whole, owner, server.id);
    bot = await makeBot(whole, owner, server.id);
    path = `/api/channels/${server.general}/messages`;
    const updates = ['MESSAGE_UPDATE', 'MESSAGE_DELETE'];
    ears = [await listenAs(whole, bot.token, updates), await listenAs(whole, owner.token), await listenAs(whole, member.token)];
  });
  after(async () => {
    await Promise.all(ears.map(({ client }) => client.close()));
    await whole.close();
  });

  const heardBy = (name: string, id: string): Promise<Record<string, unknown>[]> =>
    Promise.all(ears.map(async (ear) => (await ear.hears((event) => event.t === name && event.d.id === id)).d));
  const post = (as: Caller, body: object): Promise<Message> => send(whole, 201, as, 'POST', path, body);
  const read = (id: string): Promise<Message> => send(whole, 200, owner, 'GET', `${path}/${id}`);

  for (const who of ['bot', 'person'] as const)
    it(`12, 18. the ${who} who posts hears MESSAGE_CREATE too: serverId and the nonce, which later reads have not`, async () => {
      const made = await post(who === 'bot' ? bot : owner, { content: '😀', nonce: '😀 1' });
      expect(made.nonce).to.equal('😀 1');
      for (const event of await heardBy('MESSAGE_CREATE', made.id)) expect(event).to.deep.equal({ ...made, serverId: server.id });
      const { nonce: _, ...later } = made;
      expect(await read(made.id)).to.deep.equal(later);
      expect((await send<Message[]>(whole, 200, owner, 'GET', path)).at(-1)).to.deep.equal(later);
      const edited = await send<Message>(whole, 200, who === 'bot' ? bot : owner, 'PATCH', `${path}/${made.id}`, { content: 'b' });
      expect(edited).to.not.have.property('nonce');
      for (const event of await heardBy('MESSAGE_UPDATE', made.id)) expect(event).to.deep.equal({ ...edited, serverId: server.id });
    });

  it('two posts with one nonce are two messages, each sent with it; a post without a nonce is sent without one', async () => {
    const [one, two, none] = [
      await post(bot, { content: 'a', nonce: 'n' }),
      await post(bot, { content: 'a', nonce: 'n' }),
      await post(bot, { content: 'a' }),
    ];
    expect(one.id).to.not.equal(two.id);
    for (const { id } of [one, two]) for (const event of await heardBy('MESSAGE_CREATE', id)) expect(event.nonce).to.equal('n');
    for (const event of await heardBy('MESSAGE_CREATE', none.id)) expect(event).to.not.have.property('nonce');
  });

  it('reactions in events have me: false for everyone', async () => {
    const made = await post(bot, { content: 'a' });
    await send(whole, 204, bot, 'PUT', `${path}/${made.id}/reactions/${encodeURIComponent('👍')}`);
    const edited = await send<Message>(whole, 200, bot, 'PATCH', `${path}/${made.id}`, { content: 'b' });
    expect(edited.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    for (const event of await heardBy('MESSAGE_UPDATE', made.id))
      expect(event.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
  });

  it('an edit with new mentions sends MESSAGE_UPDATE only, no second MESSAGE_CREATE', async () => {
    const made = await post(bot, { content: 'a' });
    await heardBy('MESSAGE_CREATE', made.id);
    await send(whole, 200, bot, 'PATCH', `${path}/${made.id}`, { content: `<@${member.id}>` });
    for (const event of await heardBy('MESSAGE_UPDATE', made.id)) expect(event.mentions).to.deep.equal([member.id]);
    const last = await post(bot, { content: 'last' });
    await heardBy('MESSAGE_CREATE', last.id);
    for (const { heard } of ears) expect(heard.filter((event) => event.t === 'MESSAGE_CREATE' && event.d.id === made.id)).to.have.length(1);
  });

  it('a reply is sent with its preview, and with replyDeleted once the original is gone', async () => {
    const original = await post(member, { content: '😀'.repeat(201) });
    const reply = await post(bot, { content: 'r', replyTo: original.id });
    for (const event of await heardBy('MESSAGE_CREATE', reply.id)) {
      expect(event.reply).to.deep.equal({ id: original.id, author: original.author, content: '😀'.repeat(200), hasAttachments: false });
      expect(event)
        .to.include({ replyDeleted: false })
        .and.deep.include({ mentions: [member.id] });
    }
    await send(whole, 204, member, 'DELETE', `${path}/${original.id}`);
    for (const event of await heardBy('MESSAGE_DELETE', original.id))
      expect(event).to.deep.equal({ id: original.id, channelId: server.general, serverId: server.id });
    await send(whole, 200, bot, 'PATCH', `${path}/${reply.id}`, { content: 'still' });
    for (const event of await heardBy('MESSAGE_UPDATE', reply.id)) {
      expect(event.replyDeleted).to.equal(true);
      expect(event).to.not.have.property('reply');
    }
  });

  it('in a DM MESSAGE_CREATE has no serverId, and nobody else receives it', async () => {
    const { id } = await send<{ id: string }>(whole, 201, member, 'POST', '/api/users/@me/channels', { recipientId: bot.id });
    const made = await send<Message>(whole, 201, member, 'POST', `/api/channels/${id}/messages`, { content: 'x', nonce: 'n' });
    for (const ear of [ears[0], ears[2]]) expect((await ear?.hears((event) => event.d.id === made.id))?.d).to.deep.equal(made);
    const last = await post(bot, { content: 'last' });
    await heardBy('MESSAGE_CREATE', last.id);
    expect(ears[1]?.heard.filter((event) => event.d.channelId === id)).to.deep.equal([]);
  });
});
