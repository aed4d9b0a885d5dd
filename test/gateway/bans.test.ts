import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { authorize, type Bot, join, makeBot, makeMember, makeServer, type Place } from '../harness/factories.ts';
import { type EventRecorder, recordEvents, startParlance } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { make, type Part, use, useServer } from '../harness/use.ts';

describe('gateway: members who are banned, kicked or leave', () => {
  const bothServers: Part<Caller> = async ({ api, owner, server }) => {
    const person = await makeMember(api, owner, server.id);
    await join(api, owner, other.id, person);
    return person;
  };
  const botInBoth: Part<Bot> = async ({ api, owner, server }) => {
    const bot = await makeBot(api, owner, server.id);
    await authorize(api, owner, bot, other.id);
    return bot;
  };
  const { api, owner, server, person, bot } = useServer({ person: bothServers, bot: botInBoth }, { each: true, start: startParlance });
  const other = make(() => makeServer(api, owner));
  const recorders = use(
    async () => {
      const connect = ({ token }: Caller): Promise<EventRecorder> => recordEvents(api, token);
      const started = { owner: await connect(owner), person: await connect(person), bot: await connect(bot) };
      const close = () => Promise.all(Object.values(started).map(({ client }) => client.close()));
      return { ...started, all: Object.values(started), close };
    },
    { each: true },
  );

  const post = (at: Place, content: string): Promise<Message> =>
    send(api, 201, owner, 'POST', `/api/channels/${at.general}/messages`, { content });
  const waitFor = (recorder: EventRecorder, content: string) => recorder.waitFor(({ d }) => (d as Message).content === content);
  const contents = ({ received }: EventRecorder): string[] =>
    received.filter(({ t }) => t === 'MESSAGE_CREATE').map(({ d }) => (d as Message).content);

  const ways: [what: string, act: (one: Caller) => Promise<unknown>][] = [
    ['banned', ({ id }) => send(api, 204, owner, 'PUT', `/api/servers/${server.id}/bans/${id}`)],
    ['kicked', ({ id }) => send(api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${id}`)],
    ['leaving', (one) => send(api, 204, one, 'DELETE', `/api/users/@me/servers/${server.id}`)],
  ];
  for (const [what, act] of ways)
    it(`${what}: their sessions receive nothing more of the server after the response, others still do`, async () => {
      await post(server, 'before');
      await Promise.all(recorders.all.map((recorder) => waitFor(recorder, 'before')));
      for (const one of [person, bot]) await act(one);
      for (let i = 0; i < 5; i++) await post(server, `after ${i}`);
      await waitFor(recorders.owner, 'after 4');
      await post(other, 'end');
      await waitFor(recorders.owner, 'end');
      for (const recorder of [recorders.person, recorders.bot]) {
        await waitFor(recorder, 'end');
        expect(contents(recorder).filter((content) => !content.startsWith('You were'))).to.deep.equal(['before', 'end']);
      }
      expect(contents(recorders.owner)).to.deep.equal(['before', 'after 0', 'after 1', 'after 2', 'after 3', 'after 4', 'end']);
    });

  it('a banned person receives the notice', async () => {
    await send(api, 204, owner, 'PUT', `/api/servers/${server.id}/bans/${person.id}`, { reason: 'spam' });
    const notice = await recorders.person.waitFor(
      ({ t, d }) => t === 'MESSAGE_CREATE' && (d as Message).content.startsWith('You were banned'),
    );
    expect((notice.d as Message).author).to.deep.include({ tag: 'system' });
    expect((notice.d as Message).content).to.match(/Reason: spam$/);
  });
});
