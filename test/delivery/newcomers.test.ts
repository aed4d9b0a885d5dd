import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Member, Server } from '../../lib/contract/server.ts';
import { around } from '../harness/around.ts';
import { authorize, type Bot, type Caller, join, makeApplication, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

/** Whoever joins hears of the server and of all that happens from then on, in this order, though their node takes its time to hear it. */
describe('people who join a server', () => {
  let whole: Whole;
  let owner: Caller;
  /** A bot of the owner's, in each server: bots do not wait for people. */
  let bot: Bot;
  let witness: Ear;
  let server: Place;
  let comer: Caller;
  let comerEar: Ear;
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    bot = await makeApplication(whole, owner);
    witness = await listenAs(whole, bot.token, ['MEMBER_ADD', 'SERVER_CREATE', 'CHANNEL_CREATE']);
  });
  after(() => whole.close());
  beforeEach(async () => {
    server = await makeServer(whole, owner);
    await authorize(whole, owner, bot, server.id);
    await witness.hears(({ t, d }) => t === 'SERVER_CREATE' && d.id === server.id);
    comer = await makePerson(whole);
    comerEar = await listenAs(whole, comer.token);
  });
  afterEach(() => comerEar.client.close());

  /** Joins, and has `meanwhile` happen when the others know of it and the newcomer's node does not hear the server yet. */
  const joinSlowly = async (meanwhile: () => Promise<unknown>): Promise<void> => {
    const held = new Promise<unknown>((resolve, reject) => {
      around(whole.node.topics, 'join', async (real) => {
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

  it('miss nothing between the two: a channel that is made then is in what they are told', async () => {
    let made: Channel | undefined;
    await joinSlowly(async () => {
      made = await send<Channel>(whole, 201, owner, 'POST', `/api/servers/${server.id}/channels`, { name: 'between', kind: 'text' });
      await witness.hears(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === made?.id);
    });
    const { d } = await comerEar.hears(({ t }) => t === 'SERVER_CREATE');
    expect((d as unknown as Server).channels.map(({ id }) => id)).to.deep.equal([server.general, made?.id]);
    expect(d).to.deep.equal(await send(whole, 200, comer, 'GET', `/api/servers/${server.id}`));
    const later = await send<Channel>(whole, 201, owner, 'POST', `/api/servers/${server.id}/channels`, { name: 'later', kind: 'text' });
    await comerEar.hears(({ t, d: channel }) => t === 'CHANNEL_CREATE' && channel.id === later.id);
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
