import { expect } from 'chai';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { optInEvents } from '../../lib/contract/events.ts';
import type { Message } from '../../lib/contract/message.ts';
import { systemAccount } from '../../lib/domain/accounts/system-account.ts';
import { Client } from '../gateway/client.ts';
import { type Bot, type Caller, join, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startNode, startWhole, type TestNode, type Whole } from '../harness/whole.ts';

describe('DM events', function () {
  let whole: Whole;
  let far: TestNode;
  let owner: Caller;
  let server: Place;
  let ears: Ear[];
  before(async () => {
    whole = await startWhole();
    far = await startNode(whole.platform.config);
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
  });
  after(async () => {
    await far.close();
    await whole.close();
  });
  beforeEach(() => {
    ears = [];
  });
  afterEach(() => Promise.all(ears.map(({ client }) => client.close())));

  const person = (): Promise<Caller> => makeMember(whole, owner, server.id);
  const bot = (): Promise<Bot> => makeBot(whole, owner, server.id);
  const open = (as: Caller, to: Caller): Promise<DmChannel> =>
    send(whole, 201, as, 'POST', '/api/users/@me/channels', { recipientId: to.id });
  const post = (as: Caller, { id }: { id: string }, content: string): Promise<Message> =>
    send(whole, 201, as, 'POST', `/api/channels/${id}/messages`, { content });
  const listen = async (who: Caller, node: 'near' | 'far' = 'near'): Promise<Ear> => {
    const ear = await listenAs(node === 'near' ? whole : far, who.token, [...optInEvents]);
    ears.push(ear);
    return ear;
  };
  /** Waits until `ear` heard a message of this content; what came before it has arrived by then, as order is kept. */
  const until = (ear: Ear, content: string) => ear.hears(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content);
  const portOf = ({ gatewayUrl }: { gatewayUrl: string }): number => Number(new URL(gatewayUrl).port);
  const inDm = ({ heard }: Ear, dm: DmChannel) => heard.filter(({ d }) => d.channelId === dm.id);

  const pairs: [what: string, two: () => Promise<[Caller, Caller]>][] = [
    ['two people', async () => [await person(), await person()]],
    ['two bots', async () => [await bot(), await bot()]],
    ['a person and a bot', async () => [await person(), await bot()]],
  ];
  for (const [what, two] of pairs)
    for (const node of ['near', 'far'] as const)
      it(`${what} on ${node === 'near' ? 'one node' : 'two nodes'}: each session hears each post once, in order, nobody else`, async () => {
        const [one, other] = await two();
        const dm = await open(one, other);
        const both = [await listen(one), await listen(one, 'far'), await listen(other, node)];
        const others = [await listen(owner), await listen(await bot())];
        const made: string[] = [];
        for (let n = 0; n < 12; n++) made.push((await post(n % 2 ? one : other, dm, `say ${n}`)).id);
        await Promise.all(both.map((ear) => until(ear, 'say 11')));
        for (const ear of both) {
          const heard = inDm(ear, dm);
          expect(heard.map(({ t, d }) => [t, d.id])).to.deep.equal(made.map((id) => ['MESSAGE_CREATE', id]));
          for (const { d } of heard) expect(d).to.not.have.property('serverId');
          expect(heard.map(({ s }) => Number(s))).to.deep.equal([...new Set(heard.map(({ s }) => Number(s)))].toSorted((a, b) => a - b));
        }
        await post(owner, { id: server.general }, 'after all');
        for (const ear of others) {
          await until(ear, 'after all');
          expect(inDm(ear, dm)).to.deep.equal([]);
        }
      });

  it('edits, deletes, reactions, pins and typing come with serverId null, and `me` is false', async () => {
    const [one, other] = [await person(), await bot()];
    const dm = await open(one, other);
    const both = [await listen(one), await listen(other)];
    const path = `/api/channels/${dm.id}/messages`;
    const { id } = await post(one, dm, 'first');
    await Promise.all(both.map((ear) => until(ear, 'first')));
    await send(whole, 204, one, 'PUT', `${path}/${id}/reactions/%F0%9F%91%8D`);
    await send(whole, 200, one, 'PATCH', `${path}/${id}`, { content: 'edited' });
    await send(whole, 204, other, 'PUT', `/api/channels/${dm.id}/pins/${id}`);
    await send(whole, 204, other, 'DELETE', `${path}/${id}/reactions/%F0%9F%91%8D`);
    await send(whole, 204, one, 'DELETE', `${path}/${id}/reactions/%F0%9F%91%8D`);
    // What a message says is told only while it stands.
    await Promise.all(both.map((ear) => ear.hears(({ t }) => t === 'MESSAGE_UPDATE')));
    await send(whole, 204, one, 'DELETE', `${path}/${id}`);
    await post(other, dm, 'last');
    await Promise.all(both.map((ear) => until(ear, 'last')));
    for (const ear of both) {
      const heard = inDm(ear, dm).filter(({ t }) => t !== 'MESSAGE_CREATE');
      expect(heard.map(({ t }) => t)).to.include.members([
        'REACTION_ADD',
        'REACTION_REMOVE',
        'MESSAGE_UPDATE',
        'PINS_UPDATE',
        'MESSAGE_DELETE',
      ]);
      for (const { d } of heard) expect(d.serverId).to.equal(null);
      const edited = heard.find(({ t }) => t === 'MESSAGE_UPDATE')?.d as unknown as Message;
      for (const { me } of edited.reactions) expect(me).to.equal(false);
    }
    const ear = both[1] as Ear;
    // Typing is not promised: it is told again until it is heard, as clients do.
    const again = setInterval(() => void whole.call('POST', `/api/channels/${dm.id}/typing`, { as: one.as }), 1_000);
    await send(whole, 204, one, 'POST', `/api/channels/${dm.id}/typing`);
    const typing = await ear.hears(({ t }) => t === 'TYPING_START').finally(() => clearInterval(again));
    expect(typing.d).to.include({ channelId: dm.id, serverId: null, userId: one.id });
  });

  it('a bot that resumes is told what was said in its DMs meanwhile, once and in order', async () => {
    const [one, other] = [await person(), await bot()];
    const dm = await open(one, other);
    const first = new Client(portOf(far));
    const ready = await first.identify(other.token);
    await post(one, dm, 'live');
    const [live] = await first.events(1);
    await first.cut();
    const ear = await listen(other);
    for (let n = 0; n < 3; n++) await post(one, dm, `missed ${n}`);
    await post(owner, { id: server.general }, 'in a server');
    await post(one, dm, 'end of it');
    for (const content of ['in a server', 'end of it']) await until(ear, content);
    // On another node than before; the others' DMs are not its own.
    const second = new Client(portOf(whole));
    await second.resume(other.token, ready.d.sessionId, live?.s ?? '');
    const replayed = await second.events(5);
    const contents = replayed.map(({ d }) => d.content);
    expect(contents).to.include('in a server'); // somewhere among them: order is promised within a channel
    expect(contents.filter((content) => content !== 'in a server')).to.deep.equal(['missed 0', 'missed 1', 'missed 2', 'end of it']);
    expect((await second.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 5 });
    second.ws.terminate();
  });

  it('a DM opened between two who are connected is heard without reconnecting, and goes on without a shared server', async () => {
    const [one, other] = [await person(), await bot()];
    const ear = await listen(other);
    const dm = await open(one, other);
    const { id } = await post(one, dm, 'hello');
    await until(ear, 'hello');
    await send(whole, 204, one, 'DELETE', `/api/users/@me/servers/${server.id}`);
    await send(whole, 200, one, 'PATCH', `/api/channels/${dm.id}/messages/${id}`, { content: 'bye' });
    const { d } = await ear.hears(({ t }) => t === 'MESSAGE_UPDATE');
    expect(d).to.include({ id, content: 'bye', serverId: null });
  });

  it('a kicked person hears their notice live, once, by the account tagged system', async () => {
    const one = await person();
    const second = await makeServer(whole, owner);
    await join(whole, owner, second.id, one);
    const [ear, owners] = [await listen(one), await listen(owner)];
    await send(whole, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${one.id}`);
    const { d } = await ear.hears(({ t }) => t === 'MESSAGE_CREATE');
    expect(d.author).to.deep.include({ id: systemAccount._id, tag: 'system' });
    expect(d)
      .to.include({ content: `You were kicked from **${server.name}**. You can come back with an invite.` })
      .and.not.have.property('serverId');
    const [dm] = await send<DmChannel[]>(whole, 200, one, 'GET', '/api/users/@me/channels');
    expect([dm?.id, dm?.lastMessageId]).to.deep.equal([d.channelId, d.id]);
    // A second notice comes after all of the first.
    await send(whole, 204, owner, 'DELETE', `/api/servers/${second.id}/members/${one.id}`);
    await ear.hears((event) => event.t === 'MESSAGE_CREATE' && event.d.id !== d.id);
    await post(owner, { id: server.general }, 'after the kicks');
    await until(owners, 'after the kicks');
    expect(owners.heard.filter(({ d: { author } }) => (author as { tag?: string } | undefined)?.tag === 'system')).to.deep.equal([]);
    expect(ear.heard.filter(({ t }) => t === 'MESSAGE_CREATE')).to.have.length(2);
  });
});
