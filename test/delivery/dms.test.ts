import { expect } from 'chai';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { optInEvents } from '../../lib/contract/events.ts';
import type { Message } from '../../lib/contract/message.ts';
import { systemAccount } from '../../lib/domain/system-account.ts';
import { Client } from '../gateway/client.ts';
import { type Bot, join, leave, makeBot, makeMember, makeServer, openDm, postMessage } from '../harness/factories.ts';
import { type EventRecorder, recordEvents, startNode, startParlance, waitForAll } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { use, useServer } from '../harness/use.ts';

describe('Events: DMs', () => {
  const { api: parlance, owner, server } = useServer({}, { start: startParlance });
  const farNode = use(() => startNode(parlance.platform.config));

  const person = (): Promise<Caller> => makeMember(parlance, owner, server.id);
  const bot = (): Promise<Bot> => makeBot(parlance, owner, server.id);
  const post = (as: Caller, { id }: { id: string }, content: string): Promise<Message> => postMessage(parlance, as, id, content);
  const listen = (who: Caller, node: 'near' | 'far' = 'near'): Promise<EventRecorder> =>
    recordEvents(node === 'near' ? parlance : farNode, who.token, [...optInEvents]);
  /** Waits for a message with this content. Earlier messages have arrived then, because order is kept. */
  const waitForMessage = (recorder: EventRecorder, content: string) =>
    recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content);
  const portOf = ({ gatewayUrl }: { gatewayUrl: string }): number => Number(new URL(gatewayUrl).port);
  const inDm = ({ received }: EventRecorder, dm: DmChannel) => received.filter(({ d }) => d.channelId === dm.id);

  const pairs: [what: string, two: () => Promise<[Caller, Caller]>][] = [
    ['two people', async () => [await person(), await person()]],
    ['two bots', async () => [await bot(), await bot()]],
    ['a person and a bot', async () => [await person(), await bot()]],
  ];
  for (const [what, two] of pairs)
    for (const node of ['near', 'far'] as const)
      it(`${what} on ${node === 'near' ? 'one node' : 'two nodes'}: each session receives each post once, in order, and nobody else`, async () => {
        const [one, other] = await two();
        const dm = await openDm(parlance, one, other);
        const both = [await listen(one), await listen(one, 'far'), await listen(other, node)];
        const others = [await listen(owner), await listen(await bot())];
        const made: Message[] = [];
        for (let n = 0; n < 12; n++) made.push(await post(n % 2 ? one : other, dm, `say ${n}`));
        await Promise.all(both.map((recorder) => waitForMessage(recorder, 'say 11')));
        for (const recorder of both) {
          const received = inDm(recorder, dm);
          expect(received.map(({ t, d }) => [t, d])).to.deep.equal(made.map((message) => ['MESSAGE_CREATE', message]));
          const numbers = received.map(({ s }) => Number(s));
          expect(numbers).to.deep.equal([...new Set(numbers)].toSorted((a, b) => a - b));
        }
        await post(owner, { id: server.general }, 'after all');
        for (const recorder of others) {
          await waitForMessage(recorder, 'after all');
          expect(inDm(recorder, dm)).to.deep.equal([]);
        }
      });

  it('edits, deletes, reactions and pins have serverId null, `me` is false, and nobody else receives them', async () => {
    const [one, other] = [await person(), await bot()];
    const dm = await openDm(parlance, one, other);
    const [both, stranger] = [[await listen(one), await listen(other)], await listen(await bot())];
    const path = `/api/channels/${dm.id}/messages`;
    const { id } = await post(one, dm, 'first');
    await Promise.all(both.map((recorder) => waitForMessage(recorder, 'first')));
    await send(parlance, 204, one, 'PUT', `${path}/${id}/reactions/%F0%9F%91%8D`);
    await send(parlance, 200, one, 'PATCH', `${path}/${id}`, { content: 'edited' });
    await send(parlance, 204, other, 'PUT', `/api/channels/${dm.id}/pins/${id}`);
    await send(parlance, 204, other, 'DELETE', `${path}/${id}/reactions/%F0%9F%91%8D`);
    await send(parlance, 204, one, 'DELETE', `${path}/${id}/reactions/%F0%9F%91%8D`);
    // MESSAGE_UPDATE is sent only while the message exists.
    await waitForAll(both, ({ t }) => t === 'MESSAGE_UPDATE');
    await send(parlance, 204, one, 'DELETE', `${path}/${id}`);
    await post(other, dm, 'last');
    await Promise.all(both.map((recorder) => waitForMessage(recorder, 'last')));
    for (const recorder of both) {
      const received = inDm(recorder, dm).filter(({ t }) => t !== 'MESSAGE_CREATE');
      const names = ['REACTION_ADD', 'REACTION_REMOVE', 'MESSAGE_UPDATE', 'PINS_UPDATE', 'MESSAGE_DELETE'];
      expect(received.map(({ t }) => t)).to.include.members(names);
      for (const { d } of received) expect(d.serverId).to.equal(null);
      const reacted = { channelId: dm.id, serverId: null, messageId: id, userId: one.id, emoji: '👍' };
      expect(received.find(({ t }) => t === 'REACTION_ADD')?.d).to.deep.equal(reacted);
      const edited = received.find(({ t }) => t === 'MESSAGE_UPDATE')?.d as Message;
      for (const { me } of edited.reactions) expect(me).to.equal(false);
    }
    await post(owner, { id: server.general }, 'after the DM');
    await waitForMessage(stranger, 'after the DM');
    expect(inDm(stranger, dm)).to.deep.equal([]);
  });

  it('a bot that resumes receives the messages that it missed in its DMs, once and in order', async () => {
    const [one, other] = [await person(), await bot()];
    const dm = await openDm(parlance, one, other);
    const first = new Client(portOf(farNode));
    const ready = await first.identify(other.token);
    await post(one, dm, 'live');
    const [live] = await first.events(1);
    await first.cut();
    const recorder = await listen(other);
    for (let n = 0; n < 3; n++) await post(one, dm, `missed ${n}`);
    await post(owner, { id: server.general }, 'in a server');
    await post(one, dm, 'end of it');
    for (const content of ['in a server', 'end of it']) await waitForMessage(recorder, content);
    // Resumes on another node.
    const second = new Client(portOf(parlance));
    await second.resume(other.token, ready.d.sessionId, live?.s ?? '');
    const replayed = await second.events(5);
    const contents = replayed.map(({ d }) => d.content);
    expect(contents).to.include('in a server'); // its position is free: order is kept only within a channel
    expect(contents.filter((content) => content !== 'in a server')).to.deep.equal(['missed 0', 'missed 1', 'missed 2', 'end of it']);
    expect((await second.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 5 });
    second.ws.terminate();
  });

  it('connected sessions receive events of a new DM without reconnecting, also without a shared server', async () => {
    const [one, other] = [await person(), await bot()];
    const recorder = await listen(other);
    const dm = await openDm(parlance, one, other);
    const { id } = await post(one, dm, 'hello');
    await waitForMessage(recorder, 'hello');
    await leave(parlance, one, server.id);
    await send(parlance, 200, one, 'PATCH', `/api/channels/${dm.id}/messages/${id}`, { content: 'bye' });
    const { d } = await recorder.waitFor(({ t }) => t === 'MESSAGE_UPDATE');
    expect(d).to.include({ id, content: 'bye', serverId: null });
  });

  it('a kicked person receives the notice once, from the account tagged system', async () => {
    const one = await person();
    const second = await makeServer(parlance, owner);
    await join(parlance, owner, second.id, one);
    const [recorder, owners] = [await listen(one), await listen(owner)];
    await send(parlance, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${one.id}`);
    const { d } = await recorder.waitFor(({ t }) => t === 'MESSAGE_CREATE');
    expect(d.author).to.deep.include({ id: systemAccount._id, tag: 'system' });
    expect(d)
      .to.include({ content: `You were kicked from **${server.name}**. You can come back with an invite.` })
      .and.not.have.property('serverId');
    const [dm] = await send<DmChannel[]>(parlance, 200, one, 'GET', '/api/users/@me/channels');
    expect([dm?.id, dm?.lastMessageId]).to.deep.equal([d.channelId, d.id]);
    // A second kick sends a notice after all events of the first one.
    await send(parlance, 204, owner, 'DELETE', `/api/servers/${second.id}/members/${one.id}`);
    await recorder.waitFor((event) => event.t === 'MESSAGE_CREATE' && event.d.id !== d.id);
    await post(owner, { id: server.general }, 'after the kicks');
    await waitForMessage(owners, 'after the kicks');
    expect(owners.received.filter(({ d: { author } }) => (author as { tag?: string } | undefined)?.tag === 'system')).to.deep.equal([]);
    expect(recorder.received.filter(({ t }) => t === 'MESSAGE_CREATE')).to.have.length(2);
  });
});
