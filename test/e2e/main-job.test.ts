import { expect } from 'chai';
import type { Dispatch } from '../harness/bot-client.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

describe('the main job, through all roles', () => {
  let whole: Whole;
  let world: World;
  let bot: Ear;
  let other: Ear;
  let person: Ear;
  let channelId: string;
  let commandId: string;
  const is =
    (t: string, more: (d: Record<string, unknown>) => boolean = () => true) =>
    (event: Dispatch) =>
      event.t === t && more(event.d);

  before(async () => {
    whole = await startWhole();
    world = await makeWorld(whole.platform, { bots: 2, channels: 1 });
    channelId = world.channelIds[0] as string;
    [bot, other, person] = await Promise.all([
      listenAs(whole, `Bot ${world.bots[0]?.token}`),
      listenAs(whole, String(world.bots[1]?.token)),
      listenAs(whole, world.ownerToken),
    ]);
    const saved = await whole.call<{ id: string }[]>('PUT', `/api/applications/${world.bots[0]?.applicationId}/commands`, {
      as: `Bot ${world.bots[0]?.token}`,
      body: [{ name: 'hello', description: 'Says hello.', options: [{ name: 'name', description: 'Whom to greet.' }] }],
    });
    commandId = saved.body[0]?.id as string;
  });
  after(async () => {
    await Promise.all([bot, other, person].map((ear) => ear?.client.close()));
    await whole?.close();
  });

  const invoke = async (text?: string): Promise<string> => {
    const answer = await whole.call<{ id: string; state: string }>('POST', `/api/channels/${channelId}/commands/${commandId}/invoke`, {
      as: `Bearer ${world.ownerToken}`,
      body: text === undefined ? {} : { text },
    });
    expect([answer.status, answer.body.state], JSON.stringify(answer.body)).to.deep.equal([202, 'created']);
    return answer.body.id;
  };
  const interaction = async (id: string): Promise<Record<string, unknown>> =>
    (await bot.hears(is('INTERACTION_CREATE', (d) => d.id === id))).d;
  const callback = (d: Record<string, unknown>, body: object) =>
    whole.call<{ id: string; content: string; code?: string }>('POST', `/api/interactions/${String(d.id)}/${String(d.token)}/callback`, {
      body,
    });

  it('a post reaches every bot that may see the channel, its author, and people', async () => {
    const posted = await whole.call<{ id: string }>('POST', `/api/channels/${channelId}/messages`, {
      as: `Bot ${world.bots[0]?.token}`,
      body: { content: 'to all', nonce: 'n' },
    });
    for (const ear of [bot, other, person]) {
      const { d } = await ear.hears(is('MESSAGE_CREATE', ({ id }) => id === posted.body.id));
      expect(d).to.deep.include({ content: 'to all', serverId: world.serverId, channelId, nonce: 'n' });
    }
  });

  it('a command reaches its bot alone, the answer stands in the channel and the person sees both', async () => {
    const id = await invoke('Ada');
    const d = await interaction(id);
    expect(d).to.deep.include({ type: 'command', channelId, serverId: world.serverId, applicationId: world.bots[0]?.applicationId });
    expect(d.data).to.deep.equal({ id: commandId, name: 'hello', options: [{ name: 'name', type: 'string', value: 'Ada' }] });
    const answer = await callback(d, { type: 'message', content: 'Hello, Ada!' });
    expect(answer.status).to.equal(201);
    for (const ear of [bot, other, person])
      expect((await ear.hears(is('MESSAGE_CREATE', (m) => m.id === answer.body.id))).d.interaction).to.deep.include({ name: 'hello' });
    await person.hears(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'answered'));
    const listed = await whole.call<{ content: string }[]>('GET', `/api/channels/${channelId}/messages?limit=1`, {
      as: `Bearer ${world.ownerToken}`,
    });
    expect(listed.body[0]?.content).to.equal('Hello, Ada!');
    expect(other.heard.filter(is('INTERACTION_CREATE'))).to.deep.equal([]);
    expect((await callback(d, { type: 'message', content: 'again' })).body.code).to.equal('already_answered');
  });

  it('an ephemeral answer reaches the person only, and is not stored', async () => {
    const d = await interaction(await invoke());
    const answer = await callback(d, { type: 'message', content: 'between us', ephemeral: true });
    expect(answer.status).to.equal(201);
    expect((await person.hears(is('MESSAGE_CREATE', (m) => m.content === 'between us'))).d.ephemeral).to.equal(true);
    // What is posted afterwards comes after it: had the others got it, it would stand before.
    const marker = await whole.call<{ id: string }>('POST', `/api/channels/${channelId}/messages`, {
      as: `Bot ${world.bots[1]?.token}`,
      body: { content: 'marker' },
    });
    for (const ear of [bot, other]) {
      await ear.hears(is('MESSAGE_CREATE', (m) => m.id === marker.body.id));
      expect(ear.heard.filter(is('MESSAGE_CREATE', (m) => m.content === 'between us'))).to.deep.equal([]);
    }
    expect(await whole.platform.db.messages.countDocuments({ content: 'between us' })).to.equal(0);
  });

  it('defer, then a follow-up as the answer', async () => {
    const id = await invoke();
    const d = await interaction(id);
    expect((await callback(d, { type: 'defer' })).status).to.equal(204);
    await person.hears(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'deferred'));
    const followup = await whole.call<{ id: string }>('POST', `/api/interactions/${id}/${String(d.token)}/followup`, {
      body: { content: 'at last' },
    });
    expect(followup.status).to.equal(201);
    await person.hears(is('MESSAGE_CREATE', (m) => m.id === followup.body.id));
    await person.hears(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'answered'));
  });

  it('no answer: the person sees it expire within 3.5 s, once', async () => {
    const id = await invoke();
    const d = await interaction(id);
    await person.hears(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'expired'));
    expect((await callback(d, { type: 'message', content: 'late' })).body.code).to.equal('interaction_expired');
    expect(person.heard.filter(is('INTERACTION_UPDATE', (u) => u.id === id)).map((one) => one.d.state)).to.deep.equal(['expired']);
  });

  it('409 bot_offline, and nothing made, when the bot has gone', async () => {
    await bot.client.close();
    const before = await whole.platform.db.interactions.countDocuments({});
    let made = 0;
    for (;;) {
      const answer = await whole.call<{ code?: string }>('POST', `/api/channels/${channelId}/commands/${commandId}/invoke`, {
        as: `Bearer ${world.ownerToken}`,
        body: {},
      });
      if (answer.status === 202) {
        made++; // the node has not yet told Redis of the close
        continue;
      }
      expect([answer.status, answer.body.code]).to.deep.equal([409, 'bot_offline']);
      break;
    }
    expect(await whole.platform.db.interactions.countDocuments({})).to.equal(before + made);
  });
});
