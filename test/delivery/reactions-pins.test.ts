import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** What these events are about; people hear more, such as who is online. */
const asked = ['REACTION_ADD', 'REACTION_REMOVE', 'PINS_UPDATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE'];

describe('events of reactions and pins, through all roles', () => {
  let whole: Whole;
  let world: World;
  let channelId: string;
  let reactor: string;
  let owner: string;
  let bot: Ear;
  let plain: Ear;
  let person: Ear;
  before(async () => {
    whole = await startWhole();
    world = await makeWorld(whole.platform, { bots: 3, channels: 1 });
    channelId = world.channelIds[0] as string;
    owner = `Bearer ${world.ownerToken}`;
    reactor = `Bot ${world.bots[2]?.token}`;
    [bot, plain, person] = await Promise.all([
      listenAs(whole, String(world.bots[0]?.token), asked),
      listenAs(whole, String(world.bots[1]?.token)),
      listenAs(whole, world.ownerToken),
    ]);
  });
  after(async () => {
    await Promise.all([bot, plain, person].map((ear) => ear?.client.close()));
    await whole?.close();
  });

  const send = async (method: string, path: string, as: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await whole.call(method, path, { as, ...(body === undefined ? {} : { body }) });
    expect(answer.status, JSON.stringify(answer.body)).to.be.within(200, 204);
    return answer.body;
  };
  const post = async (content: string, in_ = channelId): Promise<string> =>
    String((await send('POST', `/api/channels/${in_}/messages`, owner, { content })).id);
  const reaction = (id: string, emoji: string, in_ = channelId): string =>
    `/api/channels/${in_}/messages/${id}/reactions/${encodeURIComponent(emoji)}`;
  /** What was heard of messages, reactions and pins since there were `from`. */
  const heardFrom = (ear: Ear, from: number): Dispatch[] =>
    ear.heard.slice(from).filter(({ t }) => t === 'MESSAGE_CREATE' || asked.includes(t));
  /** Posts and waits for it: whatever was owed before in the channel has been heard then. */
  const since = async (ear: Ear, content: string, act: (id: string) => Promise<void>): Promise<Dispatch[]> => {
    const id = await post(content);
    await ear.hears((event) => event.d.id === id);
    const from = ear.heard.length;
    await act(id);
    const last = await post(`${content}, the end`);
    await ear.hears((event) => event.d.id === last);
    return heardFrom(ear, from).filter((event) => event.d.id !== last);
  };
  const both = { serverId: '', channelId: '' };
  before(() => Object.assign(both, { serverId: world.serverId, channelId }));

  for (const [who, earOf] of [
    ['a bot that asked for them', () => bot],
    ['a person', () => person],
  ] as const)
    it(`${who} hears REACTION_ADD, REACTION_REMOVE and PINS_UPDATE in order, each once`, async () => {
      const [me, ownerId] = [world.bots[2]?.id as string, world.ownerId];
      let messageId = '';
      const heard = await since(earOf(), `for ${who}`, async (id) => {
        messageId = id;
        await send('PUT', reaction(id, '❤'), reactor);
        await send('PUT', reaction(id, '❤\uFE0F'), reactor);
        await send('PUT', reaction(id, '❤\uFE0F'), owner);
        await send('PUT', `/api/channels/${channelId}/pins/${id}`, owner);
        await send('PUT', `/api/channels/${channelId}/pins/${id}`, owner);
        await send('DELETE', reaction(id, '❤'), reactor);
        await send('DELETE', reaction(id, '❤'), reactor);
        await send('DELETE', `/api/channels/${channelId}/pins/${id}`, owner);
        await send('DELETE', reaction(id, '❤'), owner);
      });
      const told = (userId: string) => ({ ...both, messageId, userId, emoji: '❤\uFE0F' });
      expect(heard.map(({ t, d }) => [t, d])).to.deep.equal([
        ['REACTION_ADD', told(me)],
        ['REACTION_ADD', told(ownerId)],
        ['PINS_UPDATE', both],
        ['REACTION_REMOVE', told(me)],
        ['PINS_UPDATE', both],
        ['REACTION_REMOVE', told(ownerId)],
      ]);
    });

  it('a bot that did not ask hears none', async () => {
    const heard = await since(plain, 'for one that did not ask', async (id) => {
      await send('PUT', reaction(id, '👍'), owner);
      await send('PUT', `/api/channels/${channelId}/pins/${id}`, owner);
      await send('DELETE', reaction(id, '👍'), owner);
    });
    expect(heard).to.deep.equal([]);
  });

  it('an event’s message says `me: false` to everyone, also to who reacted', async () => {
    const heard = await since(person, 'edited', async (id) => {
      await send('PUT', reaction(id, '👍'), owner);
      const edited = (await send('PATCH', `/api/channels/${channelId}/messages/${id}`, owner, {
        content: 'edited now',
      })) as unknown as Message;
      expect(edited.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    });
    const update = heard.find((event) => event.t === 'MESSAGE_UPDATE');
    expect(update?.d.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
  });

  it('deleting a pinned message says MESSAGE_DELETE and PINS_UPDATE; an unpinned one no PINS_UPDATE', async () => {
    const heard = await since(bot, 'to go', async (id) => {
      const other = await post('unpinned');
      await send('PUT', `/api/channels/${channelId}/pins/${id}`, owner);
      await send('DELETE', `/api/channels/${channelId}/messages/${id}`, owner);
      await send('DELETE', `/api/channels/${channelId}/messages/${other}`, owner);
    });
    const names = heard.map((event) => event.t).filter((name) => name !== 'MESSAGE_CREATE');
    expect(names.toSorted()).to.deep.equal(['MESSAGE_DELETE', 'MESSAGE_DELETE', 'PINS_UPDATE', 'PINS_UPDATE']);
  });

  it('in a DM both hear them, with serverId null, and nobody else', async () => {
    const from = plain.heard.length;
    const dm = await send('POST', '/api/users/@me/channels', owner, { recipientId: world.bots[0]?.id });
    const id = await post('between us', String(dm.id));
    await send('PUT', reaction(id, '👍', String(dm.id)), owner);
    await send('PUT', `/api/channels/${String(dm.id)}/pins/${id}`, `Bot ${world.bots[0]?.token}`);
    const place = { channelId: dm.id, serverId: null };
    for (const ear of [bot, person]) {
      const pinned = await ear.hears((event) => event.t === 'PINS_UPDATE' && event.d.channelId === dm.id);
      expect(pinned.d).to.deep.equal(place);
      const reacted = await ear.hears((event) => event.t === 'REACTION_ADD' && event.d.channelId === dm.id);
      expect(reacted.d).to.deep.equal({ ...place, messageId: id, userId: world.ownerId, emoji: '👍' });
    }
    expect(heardFrom(plain, from)).to.deep.equal([]);
  });
});
