import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { makeChannel, makeThread, setOverwrite } from '../harness/factories.ts';
import { listOverdueKeys } from '../harness/overdue-keys.ts';
import { type EventRecorder, startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { newBot, newMember, useServer } from '../harness/use.ts';

const view = 1;
const names = ['CHANNEL_CREATE', 'CHANNEL_UPDATE', 'CHANNEL_DELETE'];

describe('Events: channels', () => {
  const fixture = useServer({ listeningBot: newBot(), otherBot: newBot(), member: newMember() }, { start: startParlance });
  const { api: parlance, owner, server, ...members } = fixture;
  /** An opted-in bot and a person who see what everyone sees, the owner, who sees everything, and a bot that did not opt in. */
  const bot = useRecorder(parlance, members.listeningBot, names);
  const person = useRecorder(parlance, members.member);
  const ownerRecorder = useRecorder(parlance, owner);
  const optedOut = useRecorder(parlance, members.otherBot);

  const eventsOf = (recorder: EventRecorder, ...ids: string[]): Dispatch[] =>
    recorder.received.filter(({ t, d }) => names.includes(t) && (ids.includes(String(d.id)) || ids.includes(String(d.parentId))));
  const summaryOf = (recorder: EventRecorder, ...ids: string[]): string[] =>
    eventsOf(recorder, ...ids).map(({ t, d }) => (typeof d.name === 'string' ? `${t} ${d.name}` : t));
  /** Creates a channel and waits until everyone has received its event. Events that were pending before have arrived then. */
  const waitForPending = async (): Promise<void> => {
    const { id } = await makeChannel(parlance, owner, server.id);
    await waitForAll([bot, person, ownerRecorder], ({ t, d }) => t === 'CHANNEL_CREATE' && d.id === id);
  };
  const patch = (id: string, body: object): Promise<Channel> => send(parlance, 200, owner, 'PATCH', `/api/channels/${id}`, body);
  const thread = (parentId: string, name = 'thread'): Promise<Channel> => makeThread(parlance, owner, parentId, { name });

  it('an opted-in bot and people receive create, update, overwrites and delete of a channel in order', async () => {
    const made = await makeChannel(parlance, owner, server.id, { name: 'first' });
    await waitForAll([bot, person], ({ d }) => d.id === made.id);
    const changed = await patch(made.id, { name: 'second' });
    await waitForAll([bot, person], ({ d }) => d.id === made.id && d.name === 'second');
    const overwritten = await setOverwrite(parlance, owner, made.id, server.id, 2, 0);
    await waitForAll([bot, person], ({ d }) => d.id === made.id && (d.overwrites as unknown[])?.length === 1);
    await send(parlance, 204, owner, 'DELETE', `/api/channels/${made.id}/overwrites/${server.id}`);
    await waitForPending();
    await send(parlance, 204, owner, 'DELETE', `/api/channels/${made.id}`);
    await waitForAll([bot, person], ({ t, d }) => t === 'CHANNEL_DELETE' && d.id === made.id);
    for (const recorder of [bot, person])
      expect(eventsOf(recorder, made.id).map(({ t, d }) => [t, d])).to.deep.equal([
        ['CHANNEL_CREATE', made],
        ['CHANNEL_UPDATE', changed],
        ['CHANNEL_UPDATE', overwritten],
        ['CHANNEL_UPDATE', changed],
        ['CHANNEL_DELETE', { id: made.id, serverId: server.id }],
      ]);
    expect(summaryOf(optedOut, made.id)).to.deep.equal([]);
  });

  it('no event of a channel or its threads reaches someone who cannot view it, not even the delete', async () => {
    const made = await makeChannel(parlance, owner, server.id, { name: 'hidden' });
    await waitForPending();
    await setOverwrite(parlance, owner, made.id, server.id, 0, view);
    await waitForPending();
    const known = [bot, person].map((recorder) => summaryOf(recorder, made.id).length);
    await patch(made.id, { name: 'renamed' });
    const { id } = await thread(made.id, 'secret');
    await waitForPending();
    await send(parlance, 204, owner, 'DELETE', `/api/channels/${made.id}`);
    await ownerRecorder.waitFor(({ t, d }) => t === 'CHANNEL_DELETE' && d.id === id);
    await waitForPending();
    expect([bot, person].map((recorder) => summaryOf(recorder, made.id, id).length)).to.deep.equal(known);
    expect(summaryOf(ownerRecorder, made.id, id).slice(-4)).to.deep.equal([
      'CHANNEL_UPDATE renamed',
      'CHANNEL_CREATE secret',
      'CHANNEL_DELETE',
      'CHANNEL_DELETE',
    ]);
  });

  it('deleting a category sends a CHANNEL_UPDATE with parentId null for its channels', async () => {
    const category = await makeChannel(parlance, owner, server.id, { kind: 'category' });
    const inside = await makeChannel(parlance, owner, server.id, { parentId: category.id, name: 'inside' });
    await waitForPending();
    await send(parlance, 204, owner, 'DELETE', `/api/channels/${category.id}`);
    const { d } = await bot.waitFor((event) => event.t === 'CHANNEL_UPDATE' && event.d.id === inside.id);
    expect(d.parentId).to.equal(null);
    await bot.waitFor(({ t, d: gone }) => t === 'CHANNEL_DELETE' && gone.id === category.id);
  });

  it('each event arrives once when several relays run in parallel and access changes', async () => {
    const runRelays = async (): Promise<void> => {
      for (let n = 0; n < 20; n++) await relayEvents(parlance.worker, 'server', server.id);
    };
    const changeAccess = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) await parlance.platform.accessVersions.runChange({ servers: [server.id] }, () => Promise.resolve());
    };
    const made = await makeChannel(parlance, owner, server.id, { name: 'busy' });
    const [threads] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, (_, n) => thread(made.id, `t${n}`))),
      runRelays(),
      runRelays(),
      changeAccess(),
    ]);
    await waitForPending();
    for (const recorder of [bot, person]) {
      const created = eventsOf(recorder, made.id, ...threads.map((one) => one.id)).map(({ d }) => d.id);
      expect(created).to.have.members([made.id, ...threads.map((one) => one.id)]);
    }
  });

  it('the sweep relays events of channels that no job relayed, once, and not before 2 s', async () => {
    const { channels } = parlance.platform.db;
    const { id } = await makeChannel(parlance, owner, server.id, { name: 'before' });
    await waitForPending();
    // As if a process had died between the write and its wake.
    const outbox = [{ id: parlance.platform.ids.next(), name: 'CHANNEL_UPDATE' as const }];
    await channels.updateOne({ _id: id }, { $set: { outbox, name: 'after', outboxAt: new Date(Date.now() - 1_000) } });
    expect(await listOverdueKeys(parlance.worker, 'server')).to.deep.equal([]);
    await channels.updateOne({ _id: id }, { $set: { outboxAt: new Date(Date.now() - 2_500) } });
    await bot.waitFor(({ d }) => d.id === id && d.name === 'after');
    await waitForPending();
    expect(summaryOf(bot, id)).to.deep.equal(['CHANNEL_CREATE before', 'CHANNEL_UPDATE after']);
  });
});
