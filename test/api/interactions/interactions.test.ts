import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Command } from '../../../lib/contract/command.ts';
import { startSecondApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  makeApplication,
  makeBot,
  makeChannel,
  makeServer,
  makeThread,
  postMessage,
  setOverwrite,
  unknownId,
} from '../../harness/factories.ts';
import { newInteraction } from '../../harness/interaction-fixture.ts';
import { refused, send } from '../../harness/requests.ts';
import { setApplication } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';
import { option, optionList, useCommands } from './command-fixture.ts';

const { 'View Channel': viewChannel, 'Send Messages': sendMessages } = permissionBits;

describe('using commands', () => {
  const { fixture, owner, member, bot, pathOf, invoke, refuses } = useCommands([
    { name: 'hello', description: 'x' },
    { name: 'bang', kind: 'prefix', prefix: '!' },
    { name: 'pair', description: 'x', options: [option('must', 'string', true), option('may')] },
    { name: 'where', description: 'x', options: [option('channel', 'channel')] },
  ]);
  const second = make(async () => {
    const server = await makeServer(fixture.api, owner);
    await authorize(fixture.api, owner, bot, server.id);
    return server;
  });
  const invokeIn = (channelId: string, command = 'hello', as = member) => invoke(command, {}, as, channelId);
  const refusesIn = (channelId: string, error: readonly [number, string], command = 'hello', as = member) =>
    refuses(error, command, {}, as, channelId);
  const channel = (input = {}): Promise<Channel> => makeChannel(fixture.api, owner, fixture.seeded.serverId, input);
  /** Replaces the commands of a bot by one; returns its id. */
  const register = async (as: Bot, name: string, serverId?: string): Promise<string> => {
    const path = `/api/applications/${as.applicationId}${serverId ? `/servers/${serverId}` : ''}/commands`;
    return String((await send<Command[]>(fixture.api, 200, as, 'PUT', path, [{ name, description: 'x' }]))[0]?.id);
  };

  it('202 with id and state, and stores the interaction with the time of the database', async () => {
    const before = Date.now();
    const body = await invoke('hello', {}, owner);
    expect(body).to.deep.equal({ id: body.id, state: 'created' });
    const { createdAt, outboxAt, outbox, ...rest } = await fixture.stored(body.id);
    expect(createdAt.getTime()).to.be.within(before - 1_000, Date.now() + 1_000);
    expect(outboxAt).to.deep.equal(createdAt);
    expect(outbox?.map(({ name }) => name)).to.deep.equal(['INTERACTION_CREATE']);
    expect(rest).to.deep.equal({
      _id: body.id,
      applicationId: bot.applicationId,
      botId: bot.id,
      channelId: fixture.channelId,
      serverId: fixture.seeded.serverId,
      userId: owner.id,
      command: { id: fixture.commands.hello, name: 'hello' },
      ...newInteraction,
    });
  });

  it('202 in a thread, also in an archived one, which it does not unarchive', async () => {
    const thread = await makeThread(fixture.api, member, fixture.channelId);
    await invokeIn(thread.id);
    await send(fixture.api, 200, owner, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
    const { id } = await invokeIn(thread.id);
    expect(await fixture.stored(id)).to.include({ channelId: thread.id, serverId: fixture.seeded.serverId, userId: member.id });
    expect((await send<Channel>(fixture.api, 200, member, 'GET', `/api/channels/${thread.id}`)).archived).to.equal(true);
  });

  it('a thread has the permissions of its parent', async () => {
    const parent = await channel();
    const thread = await makeThread(fixture.api, member, parent.id);
    await setOverwrite(fixture.api, owner, parent.id, member.id, 0, sendMessages);
    expect((await refusesIn(thread.id, [403, 'missing_permission'])).missing).to.deep.equal(['Send Messages']);
    await setOverwrite(fixture.api, owner, parent.id, bot.id, 0, viewChannel);
    await refusesIn(thread.id, [404, 'not_found'], 'hello', owner);
  });

  it('a use is not limited by slow mode, and does not start the cooldown for messages', async () => {
    const { id } = await channel();
    await send(fixture.api, 200, owner, 'PATCH', `/api/channels/${id}`, { slowmodeSecs: 21_600 });
    await invokeIn(id);
    await invokeIn(id);
    await postMessage(fixture.api, member, id);
    await refused(fixture.api, [429, 'slowmode'], member, 'POST', `/api/channels/${id}/messages`, { content: 'second' });
    await invokeIn(id);
  });

  it('202 in an announcement channel, 400 in a category and a voice channel', async () => {
    await invokeIn((await channel({ kind: 'announcement' })).id);
    for (const kind of ['category', 'voice']) await refusesIn((await channel({ kind })).id, [400, 'invalid_request']);
  });

  it('a command of one server: 202 there, 404 in another server', async () => {
    const local = await register(bot, 'local', second.id);
    await refusesIn(fixture.channelId, [404, 'not_found'], local, owner);
    await invokeIn(second.general, local, owner);
    await invokeIn(second.general, 'hello', owner);
  });

  it('404 for a command of a bot that is not in the server; 409 bot_offline in its server', async () => {
    const other = await makeApplication(fixture.api, owner);
    const command = await register(other, 'theirs');
    await refusesIn(fixture.channelId, [404, 'not_found'], command, owner);
    await authorize(fixture.api, owner, other, second.id);
    await refusesIn(fixture.channelId, [404, 'not_found'], command, owner);
    await refusesIn(second.general, [409, 'bot_offline'], command, owner);
  });

  it('409 bot_offline without a connected session of the bot; 202 with an interactions endpoint', async () => {
    const setEndpoint = (interactionsEndpointUrl: string | null) =>
      setApplication(fixture.api.platform, fixture.bot, { interactionsEndpointUrl });
    await fixture.disconnect(); // a session that can be resumed is not connected (docs/behavior/interactions.md#using-a-command)
    try {
      await refuses([409, 'bot_offline'], 'hello');
      await setEndpoint('https://bot.example/');
      await invoke('hello');
    } finally {
      await setEndpoint(null);
      await fixture.connect();
    }
  });

  describe('after a use at one process, a change by another decides the next use there', () => {
    const other = use(() => startSecondApi(fixture.api));
    const api = make(() => Promise.resolve(fixture.api));
    const rows: Record<string, [error: readonly [number, string], change: (made: Bot, commandId: string) => Promise<unknown>]> = {
      'the command is deleted': [
        [404, 'not_found'],
        (made, id) => send(api, 204, made, 'DELETE', `/api/applications/${made.applicationId}/commands/${id}`),
      ],
      'another list replaces it': [[404, 'not_found'], (made) => register(made, 'else')],
      'the endpoint is removed': [
        [409, 'bot_offline'],
        (made) => send(api, 200, owner, 'PATCH', `/api/applications/${made.applicationId}`, { interactionsEndpointUrl: null }),
      ],
      'the bot is kicked': [
        [404, 'not_found'],
        (made) => send(api, 204, owner, 'DELETE', `/api/servers/${fixture.seeded.serverId}/members/${made.id}`),
      ],
      'the channel is hidden from the bot': [
        [404, 'not_found'],
        (made) => setOverwrite(api, owner, fixture.channelId, made.id, 0, viewChannel),
      ],
      'the application is deleted': [
        [404, 'not_found'],
        (made) => send(api, 204, owner, 'DELETE', `/api/applications/${made.applicationId}`),
      ],
    };
    for (const [what, [error, change]] of Object.entries(rows))
      it(what, async () => {
        const made = await makeBot(api, owner, fixture.seeded.serverId);
        await setApplication(api.platform, made, { interactionsEndpointUrl: 'https://bot.example/' });
        const commandId = await register(made, 'changing');
        for (let n = 0; n < 2; n++) await send(other, 202, owner, 'POST', pathOf(commandId), {});
        await change(made, commandId);
        await refused(other, error, owner, 'POST', pathOf(commandId), {});
      });
  });

  it('400 for a prefix command, which is posted as a message', async () => {
    for (const body of [{}, { text: 'now' }]) await refuses([400, 'invalid_request'], 'bang', body);
  });

  const faults: [about: string, command: string, body: unknown, ...paths: string[]][] = [
    ['a missing required option in an empty body', 'pair', {}, 'must'],
    ['a missing required option in text', 'pair', { text: 'may: x' }, 'must'],
    ['a missing required option in a list', 'pair', optionList(['may', 'x']), 'must'],
    ['all errors together', 'pair', optionList(['may', 1], ['constructor', 1], ['may', 'x']), 'may', 'constructor', 'must'],
    ['text without names', 'pair', { text: 'just text' }, '/text', 'must'],
    ['text for a command without options', 'hello', { text: 'x' }, '/text'],
  ];
  for (const [about, command, body, ...paths] of faults)
    it(`400 invalid_options for ${about}`, async () => {
      const { errors } = await refuses([400, 'invalid_options'], command, body);
      expect(errors?.map(({ path }) => path)).to.deep.equal(paths);
    });

  it('400 invalid_options for a channel without View Channel, with the same error as for one that does not exist', async () => {
    const hidden = await channel();
    await setOverwrite(fixture.api, owner, hidden.id, member.id, 0, viewChannel);
    const bodyOf = (id: string): object => ({ text: `channel: ${id}` });
    const refuse = (id: string) => refuses([400, 'invalid_options'], 'where', bodyOf(id));
    const [a, b] = [await refuse(hidden.id), await refuse(unknownId)];
    expect({ ...a, requestId: '' }).to.deep.equal({ ...b, requestId: '' });
    await invoke('where', bodyOf(hidden.id), owner);
  });

  const malformed: [about: string, body: unknown][] = [
    ['null as value', optionList(['must', null])],
    ['a list as value', optionList(['must', ['x']])],
    ['an object as value', optionList(['must', { $gt: '' }])],
    ['an option without value', { options: [{ name: 'must' }] }],
    ['null as name', '{ "options": [{ "name": null, "value": 1 }] }'],
    ['26 options', { options: Array.from({ length: 26 }, () => ({ name: 'a', value: 1 })) }],
    ['an object as options', { options: { must: 'x' } }],
    ['null as options', { options: null }],
    ['text and options', { text: '', options: [] }],
    ['a number as text', { text: 5 }],
    ['null as text', { text: null }],
    ['60,001 characters of text', { text: 'x'.repeat(60_001) }],
    ['a list as body', []],
  ];
  for (const [about, body] of malformed) it(`400 invalid_request for ${about}`, () => refuses([400, 'invalid_request'], 'pair', body));

  it('options are stored in the order of the command, without those that are not given', async () => {
    const stored = async (body: unknown) => (await fixture.stored((await invoke('pair', body)).id)).options;
    const both = ['must', 'may'].map((name) => ({ name, type: 'string', value: 'x' }));
    expect(await stored({ text: 'may: x must: x' })).to.deep.equal(both);
    expect(await stored(optionList(['may', 'x'], ['must', 'x']))).to.deep.equal(both);
    expect(await stored({ text: 'must: x' })).to.deep.equal(both.slice(0, 1));
  });

  it('a repeat with its Idempotency-Key has the response of the first, also after the command is removed; a refused key can be used again', async () => {
    const once = await register(bot, 'once', second.id);
    const call = (key: string, body: unknown) =>
      fixture.api.call('POST', pathOf(once, second.general), { as: owner.as, body, headers: { 'Idempotency-Key': key } });
    expect((await call('b', { text: 'x' })).status).to.equal(400);
    expect((await call('b', {})).status).to.equal(202);
    const first = await call('a', {});
    expect((await call('a', { text: '' })).body.code).to.equal('idempotency_conflict');
    await register(bot, 'other', second.id);
    await fixture.expectNoChange(async () => expect(await call('a', {})).to.deep.include({ status: 202, body: first.body }));
    expect((await call('c', {})).status).to.equal(404);
  });

  it('GET /api/interactions/{interactionId} shows the current state to the person who used the command', async () => {
    const id = await fixture.use();
    const read = (): Promise<object> => send(fixture.api, 200, owner, 'GET', `/api/interactions/${id}`);
    const { createdAt } = await fixture.stored(id);
    expect(await read()).to.deep.equal({
      id,
      channelId: fixture.channelId,
      command: { id: fixture.commands.hello, name: 'hello' },
      state: 'created',
      createdAt: createdAt.toISOString(),
      messageId: null,
    });
    const answer = await fixture.send('callback', id, { type: 'message', content: 'hi' });
    expect(await read()).to.include({ state: 'answered', messageId: answer.body.id });
  });
});
