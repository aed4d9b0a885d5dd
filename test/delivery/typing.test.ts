import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import { announceTyping } from '../../lib/domain/jobs/announcements.ts';
import { collectionsOf } from '../harness/api.ts';
import { makeChannel, makeMember, openDm, postMessage, setOverwrite, unknownId } from '../harness/factories.ts';
import { type EventRecorder, recordEvents, startNode, startParlance, waitForAll } from '../harness/parlance.ts';
import { type Caller, refused, send } from '../harness/requests.ts';
import { newBot, newMember, use, useServer } from '../harness/use.ts';

const typingOf = (recorder: EventRecorder): EventRecorder['received'] => recorder.received.filter((event) => event.t === 'TYPING_START');

describe('POST /api/channels/{channelId}/typing', () => {
  const fixture = useServer({ other: newMember(), bot: newBot() }, { start: startParlance });
  const { api: parlance, owner, server, other, bot } = fixture;
  const second = use(() => startNode(parlance.platform.config));
  const pathOf = (channelId: string): string => `/api/channels/${channelId}/typing`;

  /** Opens a session of `caller` on node 0 or 1. Bots opt in to the event. */
  const listen = (caller: Caller, node = 0): Promise<EventRecorder> => {
    const events = caller.as.startsWith('Bot') ? ['TYPING_START'] : undefined;
    return recordEvents(node === 0 ? parlance : second, caller.token, events);
  };
  /** Posts a message and waits until everyone has received it. Earlier events have arrived then. */
  const waitForPending = async (recorders: EventRecorder[], channelId = server.general, by: Caller = owner): Promise<void> => {
    const { id } = await postMessage(parlance, by, channelId, 'end');
    await waitForAll(recorders, (event) => event.d.id === id);
  };

  for (const who of ['person', 'bot'] as const)
    it(`the others on both nodes receive typing of a ${who}, its own sessions do not`, async () => {
      const [typer, receiver] = who === 'bot' ? [bot, other] : [other, bot];
      const own = await Promise.all([listen(typer), listen(typer, 1)]);
      const others = await Promise.all([listen(receiver), listen(receiver, 1), listen(owner), listen(owner, 1)]);
      const began = Date.now();
      await send(parlance, 204, typer, 'POST', pathOf(server.general));
      for (const recorder of others) {
        const { d } = await recorder.waitFor((event) => event.t === 'TYPING_START');
        expect(d).to.deep.include({ channelId: server.general, serverId: server.id, userId: typer.id });
        expect(Object.keys(d)).to.have.members(['channelId', 'serverId', 'userId', 'at']);
        expect(new Date(String(d.at)).getTime()).to.be.within(began - 1_000, Date.now() + 1_000);
      }
      await waitForPending([...own, ...others]);
      for (const recorder of own) expect(typingOf(recorder)).to.deep.equal([]);
      for (const recorder of others) expect(typingOf(recorder)).to.have.length(1);
    });

  it('does not reach bots that did not opt in and people who cannot view the channel', async () => {
    const hidden = await makeChannel(parlance, owner, server.id);
    await setOverwrite(parlance, owner, hidden.id, server.id, 0, permissionBits['View Channel']);
    const [optedOut, excluded, ownerSession] = [await recordEvents(parlance, bot.token), await listen(other), await listen(owner, 1)];
    const optedIn = await listen(bot);
    const admin = await makeMember(parlance, owner, server.id, permissionBits.Administrator);
    await send(parlance, 204, admin, 'POST', pathOf(hidden.id));
    await ownerSession.waitFor((event) => event.t === 'TYPING_START' && event.d.channelId === hidden.id);
    await send(parlance, 204, admin, 'POST', pathOf(server.general));
    await optedIn.waitFor((event) => event.t === 'TYPING_START');
    await waitForPending([optedOut, excluded, optedIn]);
    expect(typingOf(optedOut)).to.deep.equal([]);
    expect(typingOf(excluded).map(({ d }) => d.channelId)).to.deep.equal([server.general]);
    expect(typingOf(optedIn).map(({ d }) => d.channelId)).to.deep.equal([server.general]);
  });

  it('reaches only the other side of a DM, with serverId null', async () => {
    const friend = await makeMember(parlance, owner, server.id);
    const { id: dmId } = await openDm(parlance, friend, bot);
    const [mine, theirs, stranger] = [await listen(friend), await listen(bot, 1), await listen(other)];
    await send(parlance, 204, friend, 'POST', pathOf(dmId));
    const { d } = await theirs.waitFor((event) => event.t === 'TYPING_START');
    expect(d).to.deep.include({ channelId: dmId, serverId: null, userId: friend.id });
    await waitForPending([mine, theirs], dmId, friend);
    await waitForPending([stranger]);
    expect([typingOf(mine), typingOf(stranger)]).to.deep.equal([[], []]);
    expect(typingOf(theirs)).to.have.length(1);
    await refused(parlance, [404, 'not_found'], other, 'POST', pathOf(dmId));
  });

  it('answers 400 in a voice channel', async () => {
    const { id } = await makeChannel(parlance, owner, server.id, { kind: 'voice' });
    await refused(parlance, [400, 'invalid_request'], other, 'POST', pathOf(id));
  });

  describe('announce-typing', () => {
    it('sends one event when it runs repeatedly, and stores nothing', async () => {
      const recorder = await listen(owner);
      const typing = { channelId: server.general, userId: other.id, typingId: parlance.platform.ids.next() };
      await Promise.all([announceTyping(parlance.worker, typing), announceTyping(parlance.worker, typing)]);
      await announceTyping(parlance.worker, typing);
      const stored = await Promise.all(collectionsOf(parlance.platform.db).map((one) => one.find({}).toArray()));
      expect(JSON.stringify(stored)).not.to.include(typing.typingId);
      await waitForPending([recorder]);
      expect(typingOf(recorder)).to.have.length(1);
    });

    it('sends nothing when it is too old, before a later post or in a deleted channel; typing after a post is sent', async () => {
      const recorder = await listen(owner);
      const { channelId, typingId } = { channelId: server.general, typingId: parlance.platform.ids.next() };
      const now = parlance.worker.now;
      parlance.worker.now = () => Date.now() + 9_100;
      await announceTyping(parlance.worker, { channelId, userId: other.id, typingId });
      parlance.worker.now = now;
      await postMessage(parlance, other, channelId);
      await announceTyping(parlance.worker, { channelId, userId: other.id, typingId });
      await announceTyping(parlance.worker, { channelId: unknownId, userId: other.id, typingId });
      await waitForPending([recorder]);
      expect(typingOf(recorder)).to.deep.equal([]);
      await announceTyping(parlance.worker, { channelId, userId: bot.id, typingId });
      await recorder.waitFor((event) => event.t === 'TYPING_START' && event.d.userId === bot.id);
      await send(parlance, 204, other, 'POST', pathOf(channelId));
      await recorder.waitFor((event) => event.t === 'TYPING_START' && event.d.userId === other.id);
    });
  });
});
