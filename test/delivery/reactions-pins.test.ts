import { expect } from 'chai';
import type { Dispatch } from '../harness/bot-client.ts';
import { openDm, postMessage } from '../harness/factories.ts';
import { type EventRecorder, startParlance, useRecorder } from '../harness/parlance.ts';
import type { Caller } from '../harness/requests.ts';
import { make, newBot, useServer } from '../harness/use.ts';

/** The events that the bots opt in to. People receive more, such as presence. */
const optIns = ['REACTION_ADD', 'REACTION_REMOVE', 'PINS_UPDATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE'];

describe('Events: reactions and pins', () => {
  const {
    api: parlance,
    owner,
    server,
    reactor,
    ...bots
  } = useServer({ bot: newBot(), otherBot: newBot(), reactor: newBot() }, { start: startParlance });
  const bot = useRecorder(parlance, bots.bot, optIns);
  const optedOut = useRecorder(parlance, bots.otherBot);
  const person = useRecorder(parlance, owner);
  const ids = make(async () => ({ serverId: server.id, channelId: server.general }));

  const request = async (method: string, path: string, as: Caller, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await parlance.call(method, path, { as: as.as, body });
    expect(answer.status, JSON.stringify(answer.body)).to.be.within(200, 204);
    return answer.body;
  };
  const post = async (content: string, channelId = ids.channelId): Promise<string> =>
    (await postMessage(parlance, owner, channelId, content)).id;
  const reaction = (id: string, emoji: string, channelId = ids.channelId): string =>
    `/api/channels/${channelId}/messages/${id}/reactions/${encodeURIComponent(emoji)}`;
  /** The events of messages, reactions and pins that were received after the first `from` events. */
  const receivedAfter = (recorder: EventRecorder, from: number): Dispatch[] =>
    recorder.received.slice(from).filter(({ t }) => t === 'MESSAGE_CREATE' || optIns.includes(t));
  /** Posts a message, runs `act` with it, and returns the events in between. Waits for the posts, so that earlier events have arrived. */
  const eventsDuring = async (recorder: EventRecorder, content: string, act: (id: string) => Promise<void>): Promise<Dispatch[]> => {
    const id = await post(content);
    await recorder.waitFor((event) => event.d.id === id);
    const from = recorder.received.length;
    await act(id);
    const last = await post(`${content}, the end`);
    await recorder.waitFor((event) => event.d.id === last);
    return receivedAfter(recorder, from).filter((event) => event.d.id !== last);
  };

  for (const [who, recorder] of [
    ['an opted-in bot', bot],
    ['a person', person],
  ] as const)
    it(`${who} receives REACTION_ADD, REACTION_REMOVE and PINS_UPDATE once each, in order`, async () => {
      let messageId = '';
      const received = await eventsDuring(recorder, `for ${who}`, async (id) => {
        messageId = id;
        await request('PUT', reaction(id, '❤'), reactor);
        await request('PUT', reaction(id, '❤\uFE0F'), reactor);
        await request('PUT', reaction(id, '❤\uFE0F'), owner);
        await request('PUT', `/api/channels/${ids.channelId}/pins/${id}`, owner);
        await request('PUT', `/api/channels/${ids.channelId}/pins/${id}`, owner);
        await request('DELETE', reaction(id, '❤'), reactor);
        await request('DELETE', reaction(id, '❤'), reactor);
        await request('DELETE', `/api/channels/${ids.channelId}/pins/${id}`, owner);
        await request('DELETE', reaction(id, '❤'), owner);
      });
      const reactionBy = (userId: string) => ({ ...ids, messageId, userId, emoji: '❤\uFE0F' });
      expect(received.map(({ t, d }) => [t, d])).to.deep.equal([
        ['REACTION_ADD', reactionBy(reactor.id)],
        ['REACTION_ADD', reactionBy(owner.id)],
        ['PINS_UPDATE', { ...ids }],
        ['REACTION_REMOVE', reactionBy(reactor.id)],
        ['PINS_UPDATE', { ...ids }],
        ['REACTION_REMOVE', reactionBy(owner.id)],
      ]);
    });

  it('a bot that did not opt in receives none', async () => {
    const received = await eventsDuring(optedOut, 'not opted in', async (id) => {
      await request('PUT', reaction(id, '👍'), owner);
      await request('PUT', `/api/channels/${ids.channelId}/pins/${id}`, owner);
      await request('DELETE', reaction(id, '👍'), owner);
    });
    expect(received).to.deep.equal([]);
  });

  it('the message in an event has `me: false` for everyone, also for who reacted', async () => {
    const received = await eventsDuring(person, 'edited', async (id) => {
      await request('PUT', reaction(id, '👍'), owner);
      const edited = await request('PATCH', `/api/channels/${ids.channelId}/messages/${id}`, owner, {
        content: 'edited now',
      });
      expect(edited.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    });
    const update = received.find((event) => event.t === 'MESSAGE_UPDATE');
    expect(update?.d.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
  });

  it('deleting a pinned message sends MESSAGE_DELETE and PINS_UPDATE, an unpinned one no PINS_UPDATE', async () => {
    const received = await eventsDuring(bot, 'to go', async (id) => {
      const other = await post('unpinned');
      await request('PUT', `/api/channels/${ids.channelId}/pins/${id}`, owner);
      await request('DELETE', `/api/channels/${ids.channelId}/messages/${id}`, owner);
      await request('DELETE', `/api/channels/${ids.channelId}/messages/${other}`, owner);
    });
    const names = received.map((event) => event.t).filter((name) => name !== 'MESSAGE_CREATE');
    expect(names.toSorted()).to.deep.equal(['MESSAGE_DELETE', 'MESSAGE_DELETE', 'PINS_UPDATE', 'PINS_UPDATE']);
  });

  it('both sides of a DM receive them with serverId null, and nobody else', async () => {
    const from = optedOut.received.length;
    const dm = await openDm(parlance, owner, bots.bot);
    const id = await post('between us', dm.id);
    await request('PUT', reaction(id, '👍', dm.id), owner);
    await request('PUT', `/api/channels/${dm.id}/pins/${id}`, bots.bot);
    const place = { channelId: dm.id, serverId: null };
    for (const recorder of [bot, person]) {
      const pinned = await recorder.waitFor((event) => event.t === 'PINS_UPDATE' && event.d.channelId === dm.id);
      expect(pinned.d).to.deep.equal(place);
      const reacted = await recorder.waitFor((event) => event.t === 'REACTION_ADD' && event.d.channelId === dm.id);
      expect(reacted.d).to.deep.equal({ ...place, messageId: id, userId: owner.id, emoji: '👍' });
    }
    expect(receivedAfter(optedOut, from)).to.deep.equal([]);
  });
});
