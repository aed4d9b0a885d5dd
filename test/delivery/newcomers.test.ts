import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Member, Server } from '../../lib/contract/server.ts';
import { around } from '../harness/around.ts';
import { authorize, type Bot, type Caller, join, makeApplication, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startNode, startWhole, type TestNode, type Whole } from '../harness/whole.ts';

/** Whoever joins receives the server and all that happens from then on, in this order, also when their node subscribes to the server's place late. */
describe('people who join a server', () => {
  let whole: Whole;
  /** The node of the newcomer; nobody else in the server is connected to it. */
  let far: TestNode;
  let owner: Caller;
  /** A bot of the owner's, in each server: bots do not wait for people. */
  let bot: Bot;
  let witness: Ear;
  let server: Place;
  let comer: Caller;
  let comerEar: Ear;
  before(async () => {
    whole = await startWhole();
    far = await startNode(whole.platform.config);
    owner = await makePerson(whole);
    bot = await makeApplication(whole, owner);
    witness = await listenAs(whole, bot.token, ['MEMBER_ADD', 'SERVER_CREATE', 'CHANNEL_CREATE']);
  });
  after(async () => {
    await far.close();
    await whole.close();
  });
  beforeEach(async () => {
    server = await makeServer(whole, owner);
    await authorize(whole, owner, bot, server.id);
    await witness.hears(({ t, d }) => t === 'SERVER_CREATE' && d.id === server.id);
    comer = await makePerson(whole);
    comerEar = await listenAs(far, comer.token);
  });
  afterEach(() => comerEar.client.close());

  /** Joins, and has `meanwhile` happen when the others know of it and the newcomer's node does not receive the server's events yet. */
  const joinSlowly = async (meanwhile: () => Promise<unknown>): Promise<void> => {
    const held = new Promise<unknown>((resolve, reject) => {
      around(far.node.log, 'subscribe', async (real) => {
        await witness.hears(({ t, d }) => t === 'MEMBER_ADD' && (d.member as Member).user.id === comer.id);
        await meanwhile().then(resolve, reject);
        return real();
      });
    });
    await join(whole, owner, server.id, comer);
    await held;
  };
  const told = () =>
    comerEar.heard.filter(({ t }) => t !== 'PRESENCE_UPDATE').map(({ t, d }) => [t, d.id ?? (d.channel as Channel | undefined)?.id]);

  it('miss nothing between the two: a channel that is made then comes after the server, once', async () => {
    const make = (name: string): Promise<Channel> =>
      send<Channel>(whole, 201, owner, 'POST', `/api/servers/${server.id}/channels`, { name, kind: 'text' });
    let made: Channel | undefined;
    await joinSlowly(async () => {
      made = await make('between');
      await witness.hears(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === made?.id);
    });
    const later = await make('later');
    await comerEar.hears(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === later.id);
    expect(told().filter(([t]) => t === 'SERVER_CREATE' || t === 'CHANNEL_CREATE')).to.deep.equal([
      ['SERVER_CREATE', server.id],
      ['CHANNEL_CREATE', made?.id],
      ['CHANNEL_CREATE', later.id],
    ]);
    const created = comerEar.heard.find(({ t }) => t === 'SERVER_CREATE')?.d as unknown as Server;
    const { channels, ...now } = await send<Server>(whole, 200, comer, 'GET', `/api/servers/${server.id}`);
    expect(channels.map(({ id }) => id)).to.deep.equal([server.general, made?.id, later.id]);
    expect(created).to.deep.equal({ ...now, channels: channels.slice(0, 1) });
  });

  it('and are kicked meanwhile hear both, in this order, and nothing after it', async () => {
    await joinSlowly(() => send(whole, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${comer.id}`));
    await comerEar.hears(({ t }) => t === 'SERVER_DELETE');
    const made = await send<Channel>(whole, 201, owner, 'POST', `/api/servers/${server.id}/channels`, { name: 'after', kind: 'text' });
    await witness.hears(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === made.id);
    expect(told().filter(([t]) => t !== 'DM_CREATE' && t !== 'MESSAGE_CREATE')).to.deep.equal([
      ['SERVER_CREATE', server.id],
      ['SERVER_DELETE', server.id],
    ]);
  });
});
