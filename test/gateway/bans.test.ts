import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { authorize, type Bot, type Caller, join, makeApplication, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

describe('gateway: who is banned, kicked or leaves', function () {
  this.timeout(180_000);
  let whole: Whole;
  let owner: Caller;
  let server: Place;
  let other: Place;
  let person: Caller;
  let bot: Bot;
  let ears: Record<'owner' | 'person' | 'bot', Ear>;
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    other = await makeServer(whole, owner);
  });
  after(() => whole.close());
  beforeEach(async () => {
    server = await makeServer(whole, owner);
    [person, bot] = [await makePerson(whole), await makeApplication(whole, owner)];
    for (const { id } of [server, other]) {
      await join(whole, owner, id, person);
      await authorize(whole, owner, bot, id);
    }
    const [one, two, three] = await Promise.all([owner, person, bot].map(({ token }) => listenAs(whole, token)));
    ears = { owner: one, person: two, bot: three } as typeof ears;
  });
  afterEach(() => Promise.all(Object.values(ears).map(({ client }) => client.close())));

  const post = (place: Place, content: string): Promise<Message> =>
    send(whole, 201, owner, 'POST', `/api/channels/${place.general}/messages`, { content });
  const hears = (ear: Ear, content: string) => ear.hears(({ d }) => (d as Message).content === content);
  const contents = ({ heard }: Ear): string[] => heard.filter(({ t }) => t === 'MESSAGE_CREATE').map(({ d }) => (d as Message).content);

  const ways: [what: string, act: (one: Caller) => Promise<unknown>][] = [
    ['banned', ({ id }) => send(whole, 204, owner, 'PUT', `/api/servers/${server.id}/bans/${id}`)],
    ['kicked', ({ id }) => send(whole, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${id}`)],
    ['gone by themselves', (one) => send(whole, 204, one, 'DELETE', `/api/users/@me/servers/${server.id}`)],
  ];
  for (const [what, act] of ways)
    it(`${what}: their live sessions hear nothing more of the server from that answer on, and the others all`, async () => {
      await post(server, 'before');
      await Promise.all(Object.values(ears).map((ear) => hears(ear, 'before')));
      for (const one of [person, bot]) await act(one);
      for (let i = 0; i < 5; i++) await post(server, `after ${i}`);
      await hears(ears.owner, 'after 4');
      await post(other, 'end');
      await hears(ears.owner, 'end');
      for (const ear of [ears.person, ears.bot]) {
        await hears(ear, 'end');
        expect(contents(ear).filter((content) => !content.startsWith('You were'))).to.deep.equal(['before', 'end']);
      }
      expect(contents(ears.owner)).to.deep.equal(['before', 'after 0', 'after 1', 'after 2', 'after 3', 'after 4', 'end']);
    });

  it('a banned person hears the notice on their live session', async () => {
    await send(whole, 204, owner, 'PUT', `/api/servers/${server.id}/bans/${person.id}`, { reason: 'spam' });
    const told = await ears.person.hears(({ t, d }) => t === 'MESSAGE_CREATE' && (d as Message).content.startsWith('You were banned'));
    expect((told.d as Message).author).to.deep.include({ tag: 'system' });
    expect((told.d as Message).content).to.match(/Reason: spam$/);
  });
});
