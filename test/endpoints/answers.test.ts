import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Command } from '../../lib/contract/command.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { reply, startEndpoint, type TestEndpoint } from '../harness/endpoint.ts';
import {
  type Bot,
  type Caller,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  send,
  setOverwrite,
} from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

/** Everything together: the API, a worker with its queues, a gateway node, and an endpoint. */
describe('commands over HTTPS', () => {
  let whole: Whole;
  let endpoint: TestEndpoint;
  let owner: Caller;
  let person: Caller;
  let member: Caller;
  let bot: Bot;
  let server: Place;
  let command: string;
  let ears: { person: Ear; member: Ear; bot: Ear };
  before(async () => {
    endpoint = await startEndpoint();
    whole = await startWhole({ OUTBOUND_ALLOW: endpoint.site.pair });
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    bot = await makeBot(whole, owner, server.id);
    person = await makeMember(whole, owner, server.id);
    member = await makeMember(whole, owner, server.id);
    const path = `/api/applications/${bot.applicationId}`;
    const [saved] = await send<Command[]>(whole, 200, bot, 'PUT', `${path}/commands`, [{ name: 'hello', description: 'x' }]);
    command = String(saved?.id);
    await send(whole, 200, owner, 'PATCH', path, { interactionsEndpointUrl: endpoint.url });
    ears = {
      person: await listenAs(whole, person.token),
      member: await listenAs(whole, member.token),
      bot: await listenAs(whole, bot.token),
    };
  });
  after(async () => {
    for (const { client } of Object.values(ears)) await client.close();
    await whole.close();
    await endpoint.close();
  });

  const use = async (channelId = server.general): Promise<string> =>
    (await send<{ id: string }>(whole, 202, person, 'POST', `/api/channels/${channelId}/commands/${command}/invoke`, {})).id;
  const ended = (id: string, state: string) =>
    ears.person.hears(({ t, d }) => t === 'INTERACTION_UPDATE' && d.id === id && d.state === state);
  const said = (ear: Ear, content: string) => ear.hears(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content);
  it('a connected bot hears of the answer’s message, and of the interaction over HTTPS alone', async () => {
    endpoint.answer(reply(200, { type: 'message', content: 'over https' }));
    const id = await use();
    await ended(id, 'answered');
    for (const ear of Object.values(ears)) {
      const { d } = await said(ear, 'over https');
      expect(d.interaction).to.deep.include({ name: 'hello' });
    }
    expect(endpoint.received.map(({ json }) => json.id)).to.deep.equal([id]);
  });

  it('an ephemeral answer and the states reach the person only', async () => {
    endpoint.answer(reply(200, { type: 'defer', ephemeral: true }));
    const deferred = await use();
    await ended(deferred, 'deferred');
    const { token } = endpoint.received.at(-1)?.json ?? {};
    await send(whole, 201, null, 'POST', `/api/interactions/${deferred}/${String(token)}/followup`, { content: 'after a defer' });
    expect((await said(ears.person, 'after a defer')).d).to.include({ ephemeral: true });
    endpoint.answer(reply(200, { type: 'message', content: 'for you', ephemeral: true }));
    await ended(await use(), 'answered');
    expect((await said(ears.person, 'for you')).d).to.include({ ephemeral: true });
  });

  it('in a direct message too', async () => {
    const dm = await send<DmChannel>(whole, 201, person, 'POST', '/api/users/@me/channels', { recipientId: bot.id });
    endpoint.answer(reply(200, { type: 'message', content: 'in private' }));
    await ended(await use(dm.id), 'answered');
    for (const ear of [ears.person, ears.bot]) expect((await said(ear, 'in private')).d.channelId).to.equal(dm.id);
    expect(endpoint.received.at(-1)?.json).to.include({ serverId: null, channelId: dm.id });
  });

  it('where the bot may not send messages, its answer and follow-ups are posted: a person asked', async () => {
    await setOverwrite(whole, owner, server.general, bot.id, 0, 2);
    endpoint.answer(reply(200, { type: 'message', content: 'allowed' }));
    const id = await use();
    await ended(id, 'answered');
    await said(ears.member, 'allowed');
    const { token } = endpoint.received.at(-1)?.json ?? {};
    await send(whole, 201, null, 'POST', `/api/interactions/${id}/${String(token)}/followup`, { content: 'more' });
    await send(whole, 403, bot, 'POST', `/api/channels/${server.general}/messages`, { content: 'unasked' });
    await setOverwrite(whole, owner, server.general, bot.id, 0, 0);
  });

  it('an answer un-archives its thread, a defer does not', async () => {
    const thread = await send<Channel>(whole, 201, owner, 'POST', `/api/channels/${server.general}/threads`, { name: 'a thread' });
    const archivedWhen = async (body: object, state: string): Promise<unknown> => {
      endpoint.answer((received, response) => {
        const archive = send(whole, 200, owner, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
        archive.then(() => reply(200, body)(received, response)).catch(() => response.destroy());
      });
      await ended(await use(thread.id), state);
      return (await send<Channel>(whole, 200, owner, 'GET', `/api/channels/${thread.id}`)).archived;
    };
    expect(await archivedWhen({ type: 'defer' }, 'deferred')).to.equal(true);
    expect(await archivedWhen({ type: 'message', content: 'in a thread' }, 'answered')).to.equal(false);
    await said(ears.member, 'in a thread');
  });

  it('in all of that nobody was told of what was not for them', async () => {
    await send(whole, 201, owner, 'POST', `/api/channels/${server.general}/messages`, { content: 'the end' });
    for (const ear of Object.values(ears)) await said(ear, 'the end');
    const told = (ear: Ear): string[] => ear.heard.map(({ t, d }) => (d.ephemeral === true ? 'hidden' : t));
    expect(told(ears.bot)).to.include('MESSAGE_CREATE');
    for (const name of ['INTERACTION_CREATE', 'INTERACTION_UPDATE', 'hidden'])
      for (const ear of [ears.bot, ears.member]) expect(told(ear)).not.to.include(name);
    expect(told(ears.person).filter((name) => name === 'hidden')).to.have.length(2);
    expect(told(ears.person)).not.to.include('INTERACTION_CREATE');
  });

  it('a bot without a connection is used as well', async () => {
    await ears.bot.client.close();
    endpoint.answer(reply(200, { type: 'message', content: 'offline' }));
    await ended(await use(), 'answered');
    await said(ears.member, 'offline');
  });

  it('each use was one request on one connection', () => {
    const ids = endpoint.received.map(({ json }) => json.id);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(endpoint.site.opened()).to.equal(ids.length + endpoint.pings.length);
  });
});
