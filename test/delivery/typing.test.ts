import { expect } from 'chai';
import { type Gateway, startGateway } from '../../apps/gateway/node.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { announceTyping } from '../../lib/domain/channels/typing.ts';
import { type GatewayPlatform, openGatewayPlatform } from '../../lib/store/platform.ts';
import {
  authorize,
  type Bot,
  type Caller,
  join,
  makeApplication,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
} from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

const typingOf = (ear: Ear): Ear['heard'] => ear.heard.filter((event) => event.t === 'TYPING_START');

describe('POST /api/channels/{channelId}/typing', () => {
  let whole: Whole;
  let second: { platform: GatewayPlatform; gateway: Gateway };
  let owner: Caller;
  let other: Caller;
  let server: Place;
  let bot: Bot;
  let path: string;

  before(async () => {
    whole = await startWhole({ RATE_LIMIT: 'off' });
    const platform = await openGatewayPlatform(whole.platform.config, createLog('gateway', 'silent'));
    second = { platform, gateway: await startGateway(platform, createMetrics('gateway')) };
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    other = await makeMember(whole, owner, server.id);
    bot = await makeBot(whole, owner, server.id);
    path = `/api/channels/${server.general}/typing`;
  });
  after(async () => {
    await second.gateway.close();
    await second.platform.close();
    await whole.close();
  });

  /** A session of `caller` on node 0 or 1; bots ask for the event. */
  const listen = (caller: Caller, node = 0): Promise<Ear> => {
    const events = caller.as.startsWith('Bot') ? ['TYPING_START'] : undefined;
    const gatewayUrl = node === 0 ? whole.gatewayUrl : `ws://127.0.0.1:${second.gateway.port}/gateway?v=1`;
    return listenAs({ ...whole, gatewayUrl }, caller.token, events);
  };
  const closeAll = (ears: Ear[]): Promise<unknown> => Promise.all(ears.map(({ client }) => client.close()));
  /** Waits until all that was said before has been heard: a message that everyone hears. */
  const settled = async (ears: Ear[], channelId = server.general, by: Caller = owner): Promise<void> => {
    const { id } = await send<{ id: string }>(whole, 201, by, 'POST', `/api/channels/${channelId}/messages`, { content: 'end' });
    await Promise.all(ears.map((ear) => ear.hears((event) => event.d.id === id)));
  };

  for (const who of ['person', 'bot'] as const)
    it(`of a ${who}: heard by the others on both nodes, by no session of its own`, async () => {
      const [typer, hearer] = who === 'bot' ? [bot, other] : [other, bot];
      const own = await Promise.all([listen(typer), listen(typer, 1)]);
      const others = await Promise.all([listen(hearer), listen(hearer, 1), listen(owner), listen(owner, 1)]);
      const began = Date.now();
      await send(whole, 204, typer, 'POST', path);
      for (const ear of others) {
        const { d } = await ear.hears((event) => event.t === 'TYPING_START');
        expect(d).to.deep.include({ channelId: server.general, serverId: server.id, userId: typer.id });
        expect(Object.keys(d)).to.have.members(['channelId', 'serverId', 'userId', 'at']);
        expect(new Date(String(d.at)).getTime()).to.be.within(began - 1_000, Date.now() + 1_000);
      }
      await settled([...own, ...others]);
      for (const ear of own) expect(typingOf(ear)).to.deep.equal([]);
      for (const ear of others) expect(typingOf(ear)).to.have.length(1);
      await closeAll([...own, ...others]);
    });

  it('is heard by no bot that did not ask, and by nobody who may not view the channel', async () => {
    const hidden = await makeChannel(whole, owner, server.id);
    await setOverwrite(whole, owner, hidden.id, server.id, 0, permissionBits['View Channel']);
    const [quiet, blind, sees] = [await listenAs(whole, bot.token), await listen(other), await listen(owner, 1)];
    const asks = await listen(bot);
    const admin = await makeMember(whole, owner, server.id, permissionBits.Administrator);
    await send(whole, 204, admin, 'POST', `/api/channels/${hidden.id}/typing`);
    await sees.hears((event) => event.t === 'TYPING_START' && event.d.channelId === hidden.id);
    await send(whole, 204, admin, 'POST', path);
    await asks.hears((event) => event.t === 'TYPING_START');
    await settled([quiet, blind, asks]);
    expect(typingOf(quiet)).to.deep.equal([]);
    expect(typingOf(blind).map(({ d }) => d.channelId)).to.deep.equal([server.general]);
    expect(typingOf(asks).map(({ d }) => d.channelId)).to.deep.equal([server.general]);
    await closeAll([quiet, blind, sees, asks]);
  });

  it('in a DM: heard by the other alone, with serverId null', async () => {
    const friend = await makePerson(whole);
    await join(whole, owner, server.id, friend);
    const { id: dmId } = await send<{ id: string }>(whole, 201, friend, 'POST', '/api/users/@me/channels', { recipientId: bot.id });
    const [mine, theirs, stranger] = [await listen(friend), await listen(bot, 1), await listen(other)];
    await send(whole, 204, friend, 'POST', `/api/channels/${dmId}/typing`);
    const { d } = await theirs.hears((event) => event.t === 'TYPING_START');
    expect(d).to.deep.include({ channelId: dmId, serverId: null, userId: friend.id });
    await settled([mine, theirs], dmId, friend);
    await settled([stranger]);
    expect([typingOf(mine), typingOf(stranger)]).to.deep.equal([[], []]);
    expect(typingOf(theirs)).to.have.length(1);
    await refused(whole, [404, 'not_found'], other, 'POST', `/api/channels/${dmId}/typing`);
    await closeAll([mine, theirs, stranger]);
  });

  it('refuses: 403 without Send Messages, 403 without View Channel, 404 outside, 400 in a voice channel, 401 without a credential', async () => {
    const shut = await makeChannel(whole, owner, server.id);
    await setOverwrite(whole, owner, shut.id, server.id, 0, permissionBits['Send Messages']);
    const typing = `/api/channels/${shut.id}/typing`;
    expect((await refused(whole, [403, 'missing_permission'], other, 'POST', typing)).missing).to.deep.equal(['Send Messages']);
    await setOverwrite(whole, owner, shut.id, server.id, 0, permissionBits['View Channel']);
    expect((await refused(whole, [403, 'missing_permission'], other, 'POST', typing)).missing).to.deep.equal(['View Channel']);
    await refused(whole, [404, 'not_found'], await makePerson(whole), 'POST', typing);
    await refused(whole, [404, 'not_found'], await makeApplication(whole, owner), 'POST', typing);
    await refused(whole, [404, 'not_found'], other, 'POST', '/api/channels/1000000000000000001/typing');
    const voice = await makeChannel(whole, owner, server.id, { kind: 'voice' });
    await refused(whole, [400, 'invalid_request'], other, 'POST', `/api/channels/${voice.id}/typing`);
    await refused(whole, [401, 'unauthorized'], null, 'POST', typing);
  });

  describe('announce-typing', () => {
    it('twice tells nothing twice, and nothing is stored', async () => {
      const ear = await listen(owner);
      const typing = { channelId: server.general, userId: other.id, typingId: whole.platform.ids.next() };
      await Promise.all([announceTyping(whole.worker, typing), announceTyping(whole.worker, typing)]);
      await announceTyping(whole.worker, typing);
      expect(await everything()).not.to.include(typing.typingId);
      await settled([ear]);
      expect(typingOf(ear)).to.have.length(1);
      await closeAll([ear]);
    });

    it('is skipped when it is older than the indicator lasts, when its account has posted since, and when the channel is gone', async () => {
      const ear = await listen(owner);
      const { channelId, typingId } = { channelId: server.general, typingId: whole.platform.ids.next() };
      const now = whole.worker.now;
      whole.worker.now = () => Date.now() + 9_100;
      await announceTyping(whole.worker, { channelId, userId: other.id, typingId });
      whole.worker.now = now;
      await send(whole, 201, other, 'POST', `/api/channels/${channelId}/messages`, { content: 'typed' });
      await announceTyping(whole.worker, { channelId, userId: other.id, typingId });
      await announceTyping(whole.worker, { channelId: '1000000000000000001', userId: other.id, typingId });
      await settled([ear]);
      expect(typingOf(ear)).to.deep.equal([]);
      await announceTyping(whole.worker, { channelId, userId: bot.id, typingId });
      await ear.hears((event) => event.t === 'TYPING_START' && event.d.userId === bot.id);
      await closeAll([ear]);
    });

    it('typing again after a post is heard', async () => {
      const ear = await listen(owner);
      await send(whole, 201, other, 'POST', `/api/channels/${server.general}/messages`, { content: 'first' });
      await send(whole, 204, other, 'POST', path);
      await ear.hears((event) => event.t === 'TYPING_START' && event.d.userId === other.id);
      await closeAll([ear]);
    });

    const everything = async (): Promise<string> => {
      const models = Object.values(whole.platform.db).filter((one): one is typeof whole.platform.db.messages => 'collection' in one);
      const all = await Promise.all(models.map((model) => model.collection.find({}).sort({ _id: 1 }).toArray()));
      return JSON.stringify(all);
    };
  });

  it('a bot added to a second server still hears only what it may view', async () => {
    const elsewhere = await makeServer(whole, owner);
    await authorize(whole, owner, bot, elsewhere.id);
    const ear = await listen(bot);
    await send(whole, 204, owner, 'POST', `/api/channels/${elsewhere.general}/typing`);
    expect((await ear.hears((event) => event.t === 'TYPING_START')).d.serverId).to.equal(elsewhere.id);
    await closeAll([ear]);
  });
});
