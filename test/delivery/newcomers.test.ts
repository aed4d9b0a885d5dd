import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Member } from '../../lib/contract/member.ts';
import type { Server } from '../../lib/contract/server.ts';
import { authorize, join, makeChannel } from '../harness/factories.ts';
import { interceptNext } from '../harness/intercept.ts';
import { startNode, startParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { newApplication, newPerson, use, useServer } from '../harness/use.ts';

/** A person who joins receives the server and then all later events, also when their node subscribes to the server's place late. */
describe('Events: people who join a server', () => {
  const fixture = useServer({ bot: newApplication(), newcomer: newPerson() }, { each: true, start: startParlance });
  const { api: parlance, owner, server, bot, newcomer } = fixture;
  /** The node of the newcomer; nobody else in the server is connected to it. */
  const farNode = use(() => startNode(parlance.platform.config));
  /** A bot of the owner in the server, which receives events without delay. */
  const witness = useRecorder(parlance, bot, ['MEMBER_ADD', 'SERVER_CREATE', 'CHANNEL_CREATE'], { each: true });
  const newcomerRecorder = useRecorder(farNode, newcomer, undefined, { each: true });
  beforeEach(async () => {
    await authorize(parlance, owner, bot, server.id);
    await witness.waitFor(({ t, d }) => t === 'SERVER_CREATE' && d.id === server.id);
  });

  /** Joins, and runs `meanwhile` when the others have received the join and the newcomer's node has not yet subscribed to the server. */
  const joinSlowly = async (meanwhile: () => Promise<unknown>): Promise<void> => {
    const joined = new Promise<unknown>((resolve, reject) => {
      interceptNext(farNode.node.eventLog, 'subscribe', async (real) => {
        await witness.waitFor(({ t, d }) => t === 'MEMBER_ADD' && (d.member as Member).user.id === newcomer.id);
        await meanwhile().then(resolve, reject);
        return real();
      });
    });
    await join(parlance, owner, server.id, newcomer);
    await joined;
  };
  const receivedEvents = () =>
    newcomerRecorder.received
      .filter(({ t }) => t !== 'PRESENCE_UPDATE')
      .map(({ t, d }) => [t, d.id ?? (d.channel as Channel | undefined)?.id]);

  it('a person who joins receives a channel that was created meanwhile once, after the server', async () => {
    let made: Channel | undefined;
    await joinSlowly(async () => {
      made = await makeChannel(parlance, owner, server.id);
      await witness.waitFor(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === made?.id);
    });
    const later = await makeChannel(parlance, owner, server.id);
    await newcomerRecorder.waitFor(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === later.id);
    expect(receivedEvents().filter(([t]) => t === 'SERVER_CREATE' || t === 'CHANNEL_CREATE')).to.deep.equal([
      ['SERVER_CREATE', server.id],
      ['CHANNEL_CREATE', made?.id],
      ['CHANNEL_CREATE', later.id],
    ]);
    const created = newcomerRecorder.received.find(({ t }) => t === 'SERVER_CREATE')?.d;
    const { channels, ...now } = await send<Server>(parlance, 200, newcomer, 'GET', `/api/servers/${server.id}`);
    expect(channels.map(({ id }) => id)).to.deep.equal([server.general, made?.id, later.id]);
    expect(created).to.deep.equal({ ...now, channels: channels.slice(0, 1) });
  });

  it('a person who joins and is kicked meanwhile receives SERVER_CREATE, SERVER_DELETE and nothing more', async () => {
    await joinSlowly(() => send(parlance, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${newcomer.id}`));
    await newcomerRecorder.waitFor(({ t }) => t === 'SERVER_DELETE');
    const made = await makeChannel(parlance, owner, server.id);
    await witness.waitFor(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === made.id);
    expect(receivedEvents().filter(([t]) => t !== 'DM_CREATE' && t !== 'MESSAGE_CREATE')).to.deep.equal([
      ['SERVER_CREATE', server.id],
      ['SERVER_DELETE', server.id],
    ]);
  });
});
