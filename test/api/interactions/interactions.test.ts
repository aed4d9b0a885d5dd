import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makeChannel, makePerson, setOverwrite } from '../../harness/factories.ts';
import { newInteraction } from '../../harness/interaction-fixture.ts';
import { type Caller, refused, refusedWithout, send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';
import { option, optionList, useCommands } from './command-fixture.ts';

const { 'View Channel': viewChannel, 'Send Messages': sendMessages } = permissionBits;

describe('using commands', () => {
  const { fixture, owner, member, bot, pathOf, invoke, refuses } = useCommands([
    { name: 'hello', description: 'x' },
    { name: 'bang', kind: 'prefix', prefix: '!' },
    { name: 'say', description: 'x', options: [option('text')] },
    {
      name: 'all',
      description: 'x',
      options: [
        option('s', 'string', true),
        ...(['integer', 'number', 'boolean', 'user', 'role', 'channel'] as const).map((type) => option(type, type)),
      ],
    },
  ]);
  const outsider = make(() => makePerson(fixture.api));
  const setDeny = (deny: number, channelId = fixture.channelId, id = member.id) => setOverwrite(fixture.api, owner, channelId, id, 0, deny);

  describe('POST /api/channels/{channelId}/commands/{commandId}/invoke', () => {
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

    it('202 with options of every type, from text and as a list', async () => {
      const { serverId, channelIds } = fixture.seeded;
      const options = [
        { name: 's', type: 'string', value: 'a b' },
        { name: 'integer', type: 'integer', value: -3 },
        { name: 'number', type: 'number', value: 1.5 },
        { name: 'boolean', type: 'boolean', value: true },
        { name: 'user', type: 'user', value: member.id },
        { name: 'role', type: 'role', value: serverId },
        { name: 'channel', type: 'channel', value: channelIds[1] },
      ];
      const text = `channel: ${channelIds[1]} role: <@&${serverId}> user: <@${member.id}> boolean: YES number: 1.5 integer: -3 s: a b`;
      for (const body of [{ text }, optionList(...options.map(({ name, value }) => [name, value] as const))]) {
        const { id } = await invoke('all', body);
        expect((await fixture.stored(id)).options).to.deep.equal(options);
      }
    });

    for (const text of ['$answer', '$$NOW', '$$ROOT', '$literal', '{"$gt":""}'])
      it(`${text} is stored as typed`, async () => {
        const { id } = await invoke('say', { text });
        expect((await fixture.stored(id)).options).to.deep.equal([{ name: 'text', type: 'string', value: text }]);
      });

    const badOptions: [about: string, command: string, body: () => object, ...paths: string[]][] = [
      ['a missing required option', 'all', () => ({}), 's'],
      ['values of the wrong type', 'all', () => ({ text: 's: x integer: 1.5 boolean: maybe' }), 'integer', 'boolean'],
      ['an unknown option', 'all', () => optionList(['s', 'x'], ['z', 1]), 'z'],
      ['an option given twice', 'all', () => ({ text: 's: x s: y' }), 's'],
      ['a user outside the server', 'all', () => ({ text: `s: x user: <@${outsider.id}>` }), 'user'],
      ['an unknown role', 'all', () => ({ text: `s: x role: <@&${outsider.id}>` }), 'role'],
      ['an unknown channel', 'all', () => ({ text: `s: x channel: ${outsider.id}` }), 'channel'],
      ['text for a command without options', 'hello', () => ({ text: 'x' }), '/text'],
      ['2,001 characters', 'say', () => ({ text: '😀'.repeat(2001) }), 'text'],
    ];
    for (const [about, command, body, ...paths] of badOptions)
      it(`400 invalid_options for ${about}`, async () => {
        const { errors } = await refuses([400, 'invalid_options'], command, body());
        expect(errors?.map(({ path }) => path)).to.deep.equal(paths);
      });

    it('400 invalid_options for a channel without View Channel, with the same error as for one that does not exist', async () => {
      const hidden = String(fixture.seeded.channelIds[1]);
      await setDeny(viewChannel, hidden, fixture.seeded.serverId);
      const [a, b] = await Promise.all(
        [hidden, outsider.id].map((id) =>
          refused(fixture.api, [400, 'invalid_options'], member, 'POST', pathOf('all'), { text: `s: x channel: ${id}` }),
        ),
      );
      expect({ ...a, requestId: '' }).to.deep.equal({ ...b, requestId: '' });
      await invoke('all', { text: `s: x channel: ${hidden}` }, owner);
      await setDeny(0, hidden, fixture.seeded.serverId);
    });

    const bad: [about: string, body: unknown][] = [
      ['text and options', { text: '', options: [] }],
      ['a number as text', { text: 5 }],
      ['null as text', { text: null }],
      ['26 options', { options: Array.from({ length: 26 }, () => ({ name: 'a', value: 1 })) }],
      ['an option without value', { options: [{ name: 'a' }] }],
      ['an object as value', { options: [{ name: 's', value: { $gt: '' } }] }],
      ['malformed JSON', '{'],
    ];
    for (const [about, body] of bad) it(`400 invalid_request for ${about}`, () => refuses([400, 'invalid_request'], 'say', body));

    it('400 for a prefix command, and in a channel without messages', async () => {
      const voice = await makeChannel(fixture.api, owner, fixture.seeded.serverId, { kind: 'voice' });
      await refuses([400, 'invalid_request'], 'bang');
      await refuses([400, 'invalid_request'], 'hello', {}, member, voice.id);
    });

    it('401 for an unknown credential, 403 bots_not_allowed for a bot, 404 outside the server', async () => {
      await refuses([401, 'unauthorized'], 'hello', {}, { ...owner, as: 'Bearer x' });
      await refuses([403, 'bots_not_allowed'], 'hello', {}, bot);
      await refuses([404, 'not_found'], 'hello', {}, outsider);
    });

    it('403 missing_permission without Send Messages or View Channel', async () => {
      for (const [deny, missing] of [
        [sendMessages, 'Send Messages'],
        [viewChannel, 'View Channel'],
      ] as const) {
        await setDeny(deny);
        await refusedWithout(fixture.api, missing, member, 'POST', pathOf('hello'), {});
      }
      await setDeny(0);
      await invoke('hello');
    });

    it('404 for a command that is unknown, malformed, or of a bot without View Channel', async () => {
      for (const id of [outsider.id, 'x', '%24ne']) await refuses([404, 'not_found'], id);
      await setDeny(viewChannel, fixture.channelId, bot.id);
      await refuses([404, 'not_found'], 'hello', {}, owner);
      await setDeny(0, fixture.channelId, bot.id);
    });

    it('409 bot_offline without a connected session of the bot; 202 with an interactions endpoint', async () => {
      const { applications } = fixture.api.platform.db;
      const setEndpoint = (interactionsEndpointUrl: string | null) =>
        applications.updateOne({ _id: bot.applicationId }, { $set: { interactionsEndpointUrl } });
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

    it('a repeat with its Idempotency-Key has the response of the first; 409 idempotency_conflict for another body', async () => {
      const call = (body: unknown) =>
        fixture.api.call('POST', pathOf('hello'), { as: member.as, body, headers: { 'Idempotency-Key': 'once' } });
      const first = await call({});
      await fixture.expectNoChange(async () => expect(await call({})).to.deep.include({ status: 202, body: first.body }));
      expectError(await call({ text: '' }), 409, 'idempotency_conflict');
    });
  });

  describe('GET /api/interactions/{interactionId}', () => {
    const read = (id: string): Promise<object> => send(fixture.api, 200, owner, 'GET', `/api/interactions/${id}`);

    it('shows the current state to the person who used the command', async () => {
      const id = await fixture.use();
      const { createdAt } = await fixture.stored(id);
      expect(await read(id)).to.deep.equal({
        id,
        channelId: fixture.channelId,
        command: { id: fixture.commands.hello, name: 'hello' },
        state: 'created',
        createdAt: createdAt.toISOString(),
        messageId: null,
      });
      const answer = await fixture.send('callback', id, { type: 'message', content: 'hi' });
      expect(await read(id)).to.include({ state: 'answered', messageId: answer.body.id });
    });

    it('expired after 3 seconds without an answer, also before a job expires it', async () => {
      const id = await fixture.use();
      await fixture.age(id, 3_000);
      expect(await read(id)).to.include({ state: 'expired' });
      expect((await fixture.stored(id)).state).to.equal('expired');
    });

    it('404 for anyone else and for an unknown or malformed id, 403 for a bot', async () => {
      const id = await fixture.use();
      const cases: [as: Caller, id: string, error: [number, string]][] = [
        [member, id, [404, 'not_found']],
        [owner, outsider.id, [404, 'not_found']],
        [owner, 'x', [404, 'not_found']],
        [bot, id, [403, 'bots_not_allowed']],
      ];
      for (const [as, of, error] of cases) await refused(fixture.api, error, as, 'GET', `/api/interactions/${of}`);
    });
  });
});
