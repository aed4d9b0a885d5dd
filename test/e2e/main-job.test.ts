import { expect } from 'chai';
import type { Dispatch } from '../harness/bot-client.ts';
import { type EventRecorder, recordEvents, startParlance, type TestParlance } from '../harness/parlance.ts';
import { type SeededServer, seedServer } from '../harness/seed.ts';

describe('messages and commands with all roles', () => {
  let parlance: TestParlance;
  let seeded: SeededServer;
  let bot: EventRecorder;
  let other: EventRecorder;
  let person: EventRecorder;
  let channelId: string;
  let commandId: string;
  const is =
    (t: string, more: (d: Record<string, unknown>) => boolean = () => true) =>
    (event: Dispatch) =>
      event.t === t && more(event.d);

  before(async () => {
    parlance = await startParlance();
    seeded = await seedServer(parlance.platform, { bots: 2, channels: 1 });
    channelId = seeded.channelIds[0] as string;
    [bot, other, person] = await Promise.all([
      recordEvents(parlance, `Bot ${seeded.bots[0]?.token}`),
      recordEvents(parlance, String(seeded.bots[1]?.token)),
      recordEvents(parlance, seeded.ownerToken),
    ]);
    const saved = await parlance.call<{ id: string }[]>('PUT', `/api/applications/${seeded.bots[0]?.applicationId}/commands`, {
      as: `Bot ${seeded.bots[0]?.token}`,
      body: [{ name: 'hello', description: 'Says hello.', options: [{ name: 'name', description: 'Whom to greet.' }] }],
    });
    commandId = saved.body[0]?.id as string;
  });
  after(async () => {
    await Promise.all([bot, other, person].map((recorder) => recorder?.client.close()));
    await parlance?.close();
  });

  const invoke = async (text?: string): Promise<string> => {
    const answer = await parlance.call<{ id: string; state: string }>('POST', `/api/channels/${channelId}/commands/${commandId}/invoke`, {
      as: `Bearer ${seeded.ownerToken}`,
      body: text === undefined ? {} : { text },
    });
    expect([answer.status, answer.body.state], JSON.stringify(answer.body)).to.deep.equal([202, 'created']);
    return answer.body.id;
  };
  const interaction = async (id: string): Promise<Record<string, unknown>> =>
    (await bot.waitFor(is('INTERACTION_CREATE', (d) => d.id === id))).d;
  const callback = (d: Record<string, unknown>, body: object) =>
    parlance.call<{ id: string; content: string; code?: string }>('POST', `/api/interactions/${String(d.id)}/${String(d.token)}/callback`, {
      body,
    });

  it('a message reaches its author, every bot that may see the channel, and people', async () => {
    const posted = await parlance.call<{ id: string }>('POST', `/api/channels/${channelId}/messages`, {
      as: `Bot ${seeded.bots[0]?.token}`,
      body: { content: 'to all', nonce: 'n' },
    });
    for (const recorder of [bot, other, person]) {
      const { d } = await recorder.waitFor(is('MESSAGE_CREATE', ({ id }) => id === posted.body.id));
      expect(d).to.deep.include({ content: 'to all', serverId: seeded.serverId, channelId, nonce: 'n' });
    }
  });

  it('a command reaches only its bot, and its response is posted in the channel and answers the interaction', async () => {
    const id = await invoke('Ada');
    const d = await interaction(id);
    expect(d).to.deep.include({ type: 'command', channelId, serverId: seeded.serverId, applicationId: seeded.bots[0]?.applicationId });
    expect(d.data).to.deep.equal({ id: commandId, name: 'hello', options: [{ name: 'name', type: 'string', value: 'Ada' }] });
    const answer = await callback(d, { type: 'message', content: 'Hello, Ada!' });
    expect(answer.status).to.equal(201);
    for (const recorder of [bot, other, person])
      expect((await recorder.waitFor(is('MESSAGE_CREATE', (m) => m.id === answer.body.id))).d.interaction).to.deep.include({
        name: 'hello',
      });
    await person.waitFor(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'answered'));
    const listed = await parlance.call<{ content: string }[]>('GET', `/api/channels/${channelId}/messages?limit=1`, {
      as: `Bearer ${seeded.ownerToken}`,
    });
    expect(listed.body[0]?.content).to.equal('Hello, Ada!');
    expect(other.received.filter(is('INTERACTION_CREATE'))).to.deep.equal([]);
    expect((await callback(d, { type: 'message', content: 'again' })).body.code).to.equal('already_answered');
  });

  it('an ephemeral response reaches only the person, and is not stored', async () => {
    const d = await interaction(await invoke());
    const answer = await callback(d, { type: 'message', content: 'between us', ephemeral: true });
    expect(answer.status).to.equal(201);
    expect((await person.waitFor(is('MESSAGE_CREATE', (m) => m.content === 'between us'))).d.ephemeral).to.equal(true);
    // Events arrive in order: if the bots had received the response, it would have arrived before the marker.
    const marker = await parlance.call<{ id: string }>('POST', `/api/channels/${channelId}/messages`, {
      as: `Bot ${seeded.bots[1]?.token}`,
      body: { content: 'marker' },
    });
    for (const recorder of [bot, other]) {
      await recorder.waitFor(is('MESSAGE_CREATE', (m) => m.id === marker.body.id));
      expect(recorder.received.filter(is('MESSAGE_CREATE', (m) => m.content === 'between us'))).to.deep.equal([]);
    }
    expect(await parlance.platform.db.messages.countDocuments({ content: 'between us' })).to.equal(0);
  });

  it('a follow-up after defer answers the interaction', async () => {
    const id = await invoke();
    const d = await interaction(id);
    expect((await callback(d, { type: 'defer' })).status).to.equal(204);
    await person.waitFor(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'deferred'));
    const followup = await parlance.call<{ id: string }>('POST', `/api/interactions/${id}/${String(d.token)}/followup`, {
      body: { content: 'at last' },
    });
    expect(followup.status).to.equal(201);
    await person.waitFor(is('MESSAGE_CREATE', (m) => m.id === followup.body.id));
    await person.waitFor(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'answered'));
  });

  it('sends the state `expired` once to the person when the bot does not respond', async () => {
    const id = await invoke();
    const d = await interaction(id);
    await person.waitFor(is('INTERACTION_UPDATE', (u) => u.id === id && u.state === 'expired'));
    expect((await callback(d, { type: 'message', content: 'late' })).body.code).to.equal('interaction_expired');
    expect(person.received.filter(is('INTERACTION_UPDATE', (u) => u.id === id)).map((one) => one.d.state)).to.deep.equal(['expired']);
  });

  it('409 bot_offline after the bot has disconnected, and creates no interaction', async () => {
    await bot.client.close();
    const before = await parlance.platform.db.interactions.countDocuments({});
    let created = 0;
    for (;;) {
      const answer = await parlance.call<{ code?: string }>('POST', `/api/channels/${channelId}/commands/${commandId}/invoke`, {
        as: `Bearer ${seeded.ownerToken}`,
        body: {},
      });
      if (answer.status === 202) {
        created++; // the gateway node has not yet recorded the disconnect in Redis
        continue;
      }
      expect([answer.status, answer.body.code]).to.deep.equal([409, 'bot_offline']);
      break;
    }
    expect(await parlance.platform.db.interactions.countDocuments({})).to.equal(before + created);
  });
});
