import { expect } from 'chai';
import { type Caller, makePerson } from '../../harness/factories.ts';
import { type Scene, startScene } from '../../harness/scene.ts';

describe('using commands', () => {
  let scene: Scene;
  let member: Caller;
  let stranger: Caller;
  let voiceId: string;
  const option = (name: string, type: string, required = false) => ({ name, description: 'x', type, required });
  before(async () => {
    scene = await startScene();
    [member, stranger] = [await makePerson(scene.api), await makePerson(scene.api)];
    const { serverId } = scene.world;
    const membership = { _id: `${serverId}:${member.id}`, serverId, userId: member.id, bot: false, roles: [], joinedAt: new Date() };
    await scene.api.platform.versions.changing({ servers: [serverId] }, () => scene.api.platform.db.members.insertMany([membership]));
    await scene.register([
      { name: 'hello', description: 'x' },
      { name: 'bang', kind: 'prefix', prefix: '!' },
      { name: 'say', description: 'x', options: [{ name: 'text', description: 'x' }] },
      {
        name: 'all',
        description: 'x',
        options: [
          option('s', 'string', true),
          ...['integer', 'number', 'boolean', 'user', 'role', 'channel'].map((type) => option(type, type)),
        ] as never,
      },
    ]);
    const channels = scene.api.platform.db.channels;
    const text = await channels.findOne({ _id: scene.channelId }).lean();
    voiceId = scene.api.platform.ids.next();
    await scene.api.platform.versions.changing({ servers: [scene.world.serverId] }, () =>
      channels.insertMany([{ ...text, _id: voiceId, kind: 'voice', position: 9 } as never]),
    );
  });
  after(() => scene.close());

  const invoke = (command: string, body?: unknown, { as = scene.asPerson, channelId = scene.channelId, headers = {} } = {}) =>
    scene.api.call<Record<string, unknown> & { errors: { path: string }[] }>(
      'POST',
      `/api/channels/${channelId}/commands/${scene.commands[command] ?? command}/invoke`,
      { as, headers, ...(body === undefined ? {} : { body }) },
    );
  const count = () => scene.api.platform.db.interactions.countDocuments();
  const told = ({ status, body }: { status: number; body: Record<string, unknown> }) => [status, body.code];
  const setOverwrites = (overwrites: { id: string; allow: number; deny: number }[], channelId = scene.channelId) =>
    scene.api.platform.versions.changing({ servers: [scene.world.serverId] }, () =>
      scene.api.platform.db.channels.updateOne({ _id: channelId }, { $set: { overwrites } }),
    );

  describe('POST /api/channels/{channelId}/commands/{commandId}/invoke', () => {
    it('202 with id and state; what is stored is the use, by the clock of the database', async () => {
      const before = Date.now();
      const { status, body } = await invoke('hello');
      expect(status).to.equal(202);
      expect(body).to.deep.equal({ id: body.id, state: 'created' });
      const { createdAt, obAt, ob, ...rest } = await scene.stored(String(body.id));
      expect(createdAt.getTime()).to.be.within(before - 1_000, Date.now() + 1_000);
      expect(obAt).to.deep.equal(createdAt);
      expect(ob?.map(({ name }) => name)).to.deep.equal(['INTERACTION_CREATE']);
      expect(rest).to.deep.equal({
        _id: body.id,
        applicationId: scene.bot.applicationId,
        botId: scene.bot.id,
        channelId: scene.channelId,
        serverId: scene.world.serverId,
        userId: scene.world.ownerId,
        userRoles: [],
        command: { id: scene.commands.hello, name: 'hello' },
        options: [],
        state: 'created',
        openedAt: null,
        ephemeral: false,
        messageId: null,
        endpoint: false,
        deliveredAt: null,
      });
    });

    it('every type, from text and one by one', async () => {
      const { serverId, channelIds } = scene.world;
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
      const given = [{ text }, { options: options.map(({ name, value }) => ({ name, value })) }];
      for (const body of given) {
        const answer = await invoke('all', body);
        expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
        expect((await scene.stored(String(answer.body.id))).options).to.deep.equal(options);
      }
    });

    for (const text of ['$answer', '$$NOW', '$$ROOT', '$literal', '{"$gt":""}'])
      it(`the content ${text} comes back as typed`, async () => {
        const { body } = await invoke('say', { text });
        expect((await scene.stored(String(body.id))).options).to.deep.equal([{ name: 'text', type: 'string', value: text }]);
      });

    const badOptions: [about: string, command: string, body: () => object, ...paths: string[]][] = [
      ['required and absent', 'all', () => ({}), 's'],
      ['wrong types, told by name', 'all', () => ({ text: 's: x integer: 1.5 boolean: maybe' }), 'integer', 'boolean'],
      [
        'unknown',
        'all',
        () => ({
          options: [
            { name: 's', value: 'x' },
            { name: 'z', value: 1 },
          ],
        }),
        'z',
      ],
      ['twice', 'all', () => ({ text: 's: x s: y' }), 's'],
      ['a user who is not here', 'all', () => ({ text: `s: x user: <@${stranger.id}>` }), 'user'],
      ['a role that is not here', 'all', () => ({ text: `s: x role: <@&${stranger.id}>` }), 'role'],
      ['a channel that is not here', 'all', () => ({ text: `s: x channel: ${stranger.id}` }), 'channel'],
      ['text for a command that takes none', 'hello', () => ({ text: 'x' }), '/text'],
      ['2001 characters', 'say', () => ({ text: '😀'.repeat(2001) }), 'text'],
    ];
    for (const [about, command, body, ...paths] of badOptions)
      it(`400 invalid_options, the bot is told nothing: ${about}`, async () => {
        const before = await count();
        const answer = await invoke(command, body());
        expect(told(answer)).to.deep.equal([400, 'invalid_options']);
        expect(answer.body.errors.map(({ path }) => path)).to.deep.equal(paths);
        expect(await count()).to.equal(before);
      });

    it('400 invalid_options for a channel that the person cannot see, as for one that does not exist', async () => {
      const hidden = String(scene.world.channelIds[1]);
      await setOverwrites([{ id: scene.world.serverId, allow: 0, deny: 1 }], hidden);
      const answers = await Promise.all(
        [hidden, stranger.id].map((id) => invoke('all', { text: `s: x channel: ${id}` }, { as: member.as })),
      );
      const [a, b] = answers.map(({ body }) => JSON.stringify({ ...body, requestId: '' }));
      expect(a).to.equal(b);
      expect((await invoke('all', { text: `s: x channel: ${hidden}` })).status).to.equal(202); // the owner sees it
      await setOverwrites([], hidden);
    });

    const bad: [about: string, body: unknown][] = [
      ['text and options', { text: '', options: [] }],
      ['text that is a number', { text: 5 }],
      ['text null', { text: null }],
      ['26 options', { options: Array.from({ length: 26 }, () => ({ name: 'a', value: 1 })) }],
      ['an option without value', { options: [{ name: 'a' }] }],
      ['a value that is an object', { options: [{ name: 's', value: { $gt: '' } }] }],
      ['broken JSON', '{'],
    ];
    for (const [about, body] of bad)
      it(`400 invalid_request: ${about}`, async () => expect(told(await invoke('say', body))).to.deep.equal([400, 'invalid_request']));

    it('400 for a prefix command, and in a channel that holds no messages', async () => {
      expect(told(await invoke('bang'))).to.deep.equal([400, 'invalid_request']);
      expect(told(await invoke('hello', {}, { channelId: voiceId }))).to.deep.equal([400, 'invalid_request']);
    });

    it('401, 403 bots_not_allowed, 404 outside the server', async () => {
      expect((await invoke('hello', {}, { as: 'Bearer x' })).status).to.equal(401);
      expect(told(await invoke('hello', {}, { as: scene.asBot }))).to.deep.equal([403, 'bots_not_allowed']);
      expect((await invoke('hello', {}, { as: stranger.as })).status).to.equal(404);
    });

    it('403 missing_permission without Send Messages or View Channel', async () => {
      for (const [deny, missing] of [
        [2, 'Send Messages'],
        [1, 'View Channel'],
      ] as const) {
        await setOverwrites([{ id: member.id, allow: 0, deny }]);
        const answer = await invoke('hello', {}, { as: member.as });
        expect(told(answer)).to.deep.equal([403, 'missing_permission']);
        expect(answer.body.missing).to.deep.equal([missing]);
      }
      await setOverwrites([]);
      expect((await invoke('hello', {}, { as: member.as })).status).to.equal(202);
    });

    it('404 for a command that is unknown, malformed, or of a bot that cannot view the channel', async () => {
      for (const id of [stranger.id, 'x', '$ne']) expect((await invoke(encodeURIComponent(id))).status).to.equal(404);
      await setOverwrites([{ id: scene.bot.id, allow: 0, deny: 1 }]);
      expect((await invoke('hello')).status).to.equal(404);
      await setOverwrites([]);
    });

    it('409 bot_offline without a live socket, and nothing is made; an endpoint makes up for it', async () => {
      const before = await count();
      const { applications } = scene.api.platform.db;
      await scene.disconnect(); // its session waits to be resumed, which counts as not connected (docs/behavior/interactions.md#using-a-command)
      try {
        expect(told(await invoke('hello'))).to.deep.equal([409, 'bot_offline']);
        expect(await count()).to.equal(before);
        await applications.updateOne({ _id: scene.bot.applicationId }, { $set: { interactionsEndpointUrl: 'https://bot.example/' } });
        expect((await invoke('hello')).status).to.equal(202);
      } finally {
        await applications.updateOne({ _id: scene.bot.applicationId }, { $set: { interactionsEndpointUrl: null } });
        await scene.connect();
      }
    });

    it('the same Idempotency-Key uses the command once', async () => {
      const before = await count();
      const headers = { 'Idempotency-Key': 'once' };
      const [first, second] = [await invoke('hello', {}, { headers }), await invoke('hello', {}, { headers })];
      expect(second).to.deep.include({ status: 202, body: first.body });
      expect(await count()).to.equal(before + 1);
      expect(told(await invoke('hello', { text: '' }, { headers }))).to.deep.equal([409, 'idempotency_conflict']);
    });
  });

  describe('GET /api/interactions/{id}', () => {
    const view = (id: string, as = scene.asPerson) => scene.api.call('GET', `/api/interactions/${id}`, { as });

    it('shows the person where it stands', async () => {
      const id = await scene.use();
      const { createdAt } = await scene.stored(id);
      expect((await view(id)).body).to.deep.equal({
        id,
        channelId: scene.channelId,
        command: { id: scene.commands.hello, name: 'hello' },
        state: 'created',
        createdAt: createdAt.toISOString(),
        messageId: null,
      });
      const answer = await scene.send('callback', id, { type: 'message', content: 'hi' });
      expect((await view(id)).body).to.include({ state: 'answered', messageId: answer.body.id });
    });

    it('expired as soon as its time is over, whoever looks first', async () => {
      const id = await scene.use();
      await scene.age(id, 3_000);
      expect((await view(id)).body).to.include({ state: 'expired' });
      expect((await scene.stored(id)).state).to.equal('expired');
    });

    it('404 for anyone else and for unknown or malformed ids, 403 for bots', async () => {
      const id = await scene.use();
      for (const answer of [await view(id, member.as), await view(stranger.id), await view('x')]) expect(answer.status).to.equal(404);
      expect(told(await view(id, scene.asBot))).to.deep.equal([403, 'bots_not_allowed']);
    });
  });
});
