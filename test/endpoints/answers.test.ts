// Tests of Interactions Endpoints: saving and testing their URLs, signed requests, answers, the delivery log, races and faults.
import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Command } from '../../lib/contract/command.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import type { EndpointDeliveryPage } from '../../lib/contract/endpoint.ts';
import type { Message } from '../../lib/contract/message.ts';
import { reply, startEndpoint } from '../harness/endpoint.ts';
import { setOverwrite } from '../harness/factories.ts';
import { type EventRecorder, startParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { make, newBot, newMember, use, useServer } from '../harness/use.ts';

describe('Interactions Endpoint: commands through all roles', () => {
  const endpoint = use(startEndpoint);
  const { api, owner, server, bot, person, member } = useServer(
    { bot: newBot(), person: newMember(), member: newMember() },
    { start: () => startParlance({ OUTBOUND_ALLOW: endpoint.site.pair }) },
  );
  const command = make(async () => {
    const path = `/api/applications/${bot.applicationId}`;
    const [saved] = await send<Command[]>(api, 200, bot, 'PUT', `${path}/commands`, [{ name: 'hello', description: 'x' }]);
    await send(api, 200, owner, 'PATCH', path, { interactionsEndpointUrl: endpoint.url });
    return saved ?? expect.fail();
  });
  const recorders = { person: useRecorder(api, person), member: useRecorder(api, member), bot: useRecorder(api, bot) };

  const invoke = async (channelId = server.general): Promise<string> =>
    (await send<{ id: string }>(api, 202, person, 'POST', `/api/channels/${channelId}/commands/${command.id}/invoke`, {})).id;
  const waitForState = (id: string, state: string) =>
    recorders.person.waitFor(({ t, d }) => t === 'INTERACTION_UPDATE' && d.id === id && d.state === state);
  const waitForMessage = (recorder: EventRecorder, content: string) =>
    recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content);

  it('a connected bot receives the answer’s message over the gateway, and the interaction over HTTPS only', async () => {
    endpoint.answer(reply(200, { type: 'message', content: 'over https' }));
    const id = await invoke();
    await waitForState(id, 'answered');
    for (const recorder of Object.values(recorders)) {
      const { d } = await waitForMessage(recorder, 'over https');
      expect(d.interaction).to.deep.include({ name: 'hello' });
    }
    expect(endpoint.received.map(({ json }) => json.id)).to.deep.equal([id]);
  });

  it('the endpoint finds the message of its answer as the original, and in the delivery log', async () => {
    endpoint.answer(reply(200, { type: 'message', content: 'to find' }));
    const id = await invoke();
    const { d } = await waitForMessage(recorders.bot, 'to find');
    const { token } = endpoint.received.at(-1)?.json ?? {};
    const original = await send<Message>(api, 200, null, 'GET', `/api/interactions/${id}/${String(token)}/original`);
    expect(original).to.include({ id: d.id, content: 'to find' });
    const log = await send<EndpointDeliveryPage>(api, 200, owner, 'GET', `/api/applications/${bot.applicationId}/deliveries`);
    expect(log.items.find(({ interactionId }) => interactionId === id)).to.include({ outcome: 'answered', messageId: d.id });
  });

  it('only the person receives ephemeral answers and the states', async () => {
    endpoint.answer(reply(200, { type: 'defer', ephemeral: true }));
    const deferred = await invoke();
    await waitForState(deferred, 'deferred');
    const { token } = endpoint.received.at(-1)?.json ?? {};
    await send(api, 201, null, 'POST', `/api/interactions/${deferred}/${String(token)}/followup`, { content: 'after a defer' });
    expect((await waitForMessage(recorders.person, 'after a defer')).d).to.include({ ephemeral: true });
    endpoint.answer(reply(200, { type: 'message', content: 'for you', ephemeral: true }));
    await waitForState(await invoke(), 'answered');
    expect((await waitForMessage(recorders.person, 'for you')).d).to.include({ ephemeral: true });
  });

  it('an answer in a DM reaches both sides', async () => {
    const dm = await send<DmChannel>(api, 201, person, 'POST', '/api/users/@me/channels', { recipientId: bot.id });
    endpoint.answer(reply(200, { type: 'message', content: 'in private' }));
    await waitForState(await invoke(dm.id), 'answered');
    for (const recorder of [recorders.person, recorders.bot])
      expect((await waitForMessage(recorder, 'in private')).d.channelId).to.equal(dm.id);
    expect(endpoint.received.at(-1)?.json).to.include({ serverId: null, channelId: dm.id });
  });

  it('posts the answer and follow-ups where the bot lacks Send Messages', async () => {
    await setOverwrite(api, owner, server.general, bot.id, 0, 2);
    endpoint.answer(reply(200, { type: 'message', content: 'allowed' }));
    const id = await invoke();
    await waitForState(id, 'answered');
    await waitForMessage(recorders.member, 'allowed');
    const { token } = endpoint.received.at(-1)?.json ?? {};
    await send(api, 201, null, 'POST', `/api/interactions/${id}/${String(token)}/followup`, { content: 'more' });
    await send(api, 403, bot, 'POST', `/api/channels/${server.general}/messages`, { content: 'unasked' });
    await setOverwrite(api, owner, server.general, bot.id, 0, 0);
  });

  it('an answer unarchives its thread, a defer does not', async () => {
    const thread = await send<Channel>(api, 201, owner, 'POST', `/api/channels/${server.general}/threads`, { name: 'a thread' });
    const archivedWhen = async (body: object, state: string): Promise<unknown> => {
      endpoint.answer((received, response) => {
        const archive = send(api, 200, owner, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
        archive.then(() => reply(200, body)(received, response)).catch(() => response.destroy());
      });
      await waitForState(await invoke(thread.id), state);
      return (await send<Channel>(api, 200, owner, 'GET', `/api/channels/${thread.id}`)).archived;
    };
    expect(await archivedWhen({ type: 'defer' }, 'deferred')).to.equal(true);
    expect(await archivedWhen({ type: 'message', content: 'in a thread' }, 'answered')).to.equal(false);
    await waitForMessage(recorders.member, 'in a thread');
  });

  it('nobody received an event that was not for them', async () => {
    await send(api, 201, owner, 'POST', `/api/channels/${server.general}/messages`, { content: 'the end' });
    for (const recorder of Object.values(recorders)) await waitForMessage(recorder, 'the end');
    const eventsOf = (recorder: EventRecorder): string[] => recorder.received.map(({ t, d }) => (d.ephemeral === true ? 'hidden' : t));
    expect(eventsOf(recorders.bot)).to.include('MESSAGE_CREATE');
    for (const name of ['INTERACTION_CREATE', 'INTERACTION_UPDATE', 'hidden'])
      for (const recorder of [recorders.bot, recorders.member]) expect(eventsOf(recorder)).not.to.include(name);
    expect(eventsOf(recorders.person).filter((name) => name === 'hidden')).to.have.length(2);
    expect(eventsOf(recorders.person)).not.to.include('INTERACTION_CREATE');
  });

  it('posts the answer of a bot that is not connected', async () => {
    await recorders.bot.client.close();
    endpoint.answer(reply(200, { type: 'message', content: 'offline' }));
    await waitForState(await invoke(), 'answered');
    await waitForMessage(recorders.member, 'offline');
  });

  it('sent one request for each use of a command', () => {
    const ids = endpoint.received.map(({ json }) => json.id);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(endpoint.site.asked).to.have.length(ids.length + endpoint.pings.length);
  });
});
