import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { send } from '../../harness/requests.ts';
import { type Program, usePrograms, usePythonKit } from './python-fixture.ts';

describe('sdk/python: commands over the gateway', () => {
  const kit = usePythonKit();
  const run = usePrograms({ all: true });
  let program: Program;
  const start = async (env: Record<string, string> = {}): Promise<Program> => {
    const started = run('commands', { ...kit.env(), ...env });
    await started.waitFor(({ ready }) => ready !== undefined);
    return started;
  };
  before(async () => {
    program = await start();
  });
  const contentOf = async (id: string): Promise<unknown> =>
    (await kit.api.call('GET', `/api/channels/${kit.server.general}/messages/${id}`, { as: kit.owner.as })).body.content;

  it('pass typed options, answer, and follow up', async () => {
    await kit.invoke('roll', { sides: 6, note: 'lucky' });
    const { id, interaction } = await kit.answer('7 LUCKY');
    expect(interaction?.name).to.equal('roll');
    expect((await kit.answer('only for you')).ephemeral).to.equal(true);
    const { body } = await kit.api.call<{ id: string }[]>('GET', `/api/channels/${kit.server.general}/messages/${id}/reactions/🎲`, {
      as: kit.owner.as,
    });
    expect(body.map((user) => user.id)).to.deep.equal([kit.bot.id]);
    await kit.invoke('roll', { sides: 20 });
    await kit.answer('21 no note');
  });

  it('take options of every type, and answer only the person if they are declared so', async () => {
    const options = { sure: true, share: 0.5, person: kit.owner.id, group: kit.bot.roleId, place: kit.server.general };
    await kit.invoke('types', options);
    expect((await kit.answer(JSON.stringify(Object.values(options)).replaceAll(',', ', '))).ephemeral).to.equal(true);
  });

  it('are deferred when the handler takes long, and then answered and edited', async () => {
    await kit.reach('slow', 'deferred');
    await kit.post('release');
    const { id: messageId } = await kit.answer('late, but here');
    await waitUntil(async () => (await contentOf(messageId)) === 'late, but edited', 'the edit');
  });

  it('are answered by an edit after a defer, and return their answer', async () => {
    await kit.invoke('edited');
    await kit.answer('an edit as the answer: True, 15 minutes');
  });

  it('refuse a follow-up before the answer', async () => {
    await kit.invoke('early');
    await kit.answer('this interaction is not answered yet; use reply or defer first');
  });

  it('delete their answer', async () => {
    await kit.invoke('removed');
    const { id } = await kit.answer('soon gone');
    await kit.person.waitFor(({ t, d }) => t === 'MESSAGE_DELETE' && d.id === id);
  });

  it('say that something went wrong when the handler fails, and log the error', async () => {
    await kit.invoke('broken');
    expect((await kit.answer('Something went wrong.')).ephemeral).to.equal(true);
    expect(program.log()).to.include('a fault of the handler');
  });

  it('are answered once', async () => {
    await kit.invoke('twice');
    await kit.answer('the first answer');
    await waitUntil(() => program.log().includes('answered already'), 'the error');
  });

  it('can be answered after an answer was refused', async () => {
    await kit.invoke('long');
    await kit.answer('refused: invalid_request');
  });

  it('that end without an answer are ended with a warning', async () => {
    for (const name of ['silent', 'forgetful']) {
      const failures = () =>
        kit.person.received.filter(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === 'The bot has finished without an answer.');
      const before = failures().length;
      await kit.reach(name, 'answered');
      await waitUntil(async () => failures().length > before, 'the answer');
      expect(failures().at(-1)?.d).to.include({ ephemeral: true });
      await waitUntil(async () => program.log().includes(`the handler of /${name} ended without an answer`), 'the warning');
    }
  });

  it('that are answered by requests of their own get no second message', async () => {
    const failures = () =>
      kit.person.received.filter(
        ({ t, d }) => t === 'MESSAGE_CREATE' && /^(The bot has finished without|Something went wrong)/.test(String(d.content)),
      ).length;
    for (const how of ['a follow-up', 'an edit', 'one that fails']) {
      const before = failures();
      await kit.invoke('raw', { how });
      await kit.answer(`answered by ${how}`);
      await kit.reach('silent', 'answered'); // gets its message later
      await waitUntil(async () => failures() > before, 'the answer to /silent');
      expect(failures(), how).to.equal(before + 1);
    }
    expect(program.log()).to.include('a fault after the answer').and.not.include('the handler of /raw ended');
  });

  it('are deferred also after an answer was refused', async () => {
    await kit.reach('stubborn', 'deferred');
    await kit.post('release stubborn');
    await kit.answer('answered in the end');
  });

  it('that end without an answer can be answered later', async () => {
    await kit.invoke('background');
    await kit.answer('The bot has finished without an answer.');
    await kit.answer('answered in the background');
  });

  it('cannot be declared after the start', async () => {
    await kit.post('declare');
    await kit.answer('declare /late before the start, which registers the commands');
    await kit.answer('declare !late before the start, which registers the commands');
  });

  it('with a prefix get the text behind their name', async () => {
    for (const text of ['say !echo', '!echoes', '!echo one  two']) await kit.post(text);
    expect((await kit.answer('echo: one  two')).reply?.content).to.equal('!echo one  two');
  });

  it('that the program has not declared are answered with the reason', async () => {
    const path = `/api/applications/${kit.bot.applicationId}/servers/${kit.server.id}/commands`;
    await send(kit.api, 200, kit.owner, 'PUT', path, [{ name: 'gone', description: 'Is not in the program.' }]);
    await kit.invoke('gone');
    expect(await kit.answer('This command does not exist any more.')).to.include({ ephemeral: true });
  });

  it('that the program has not declared go to a listener of interaction_create', async () => {
    const other = await start({ FALLBACK: '1' }); // commands go to the newest connection
    await kit.invoke('gone');
    await kit.answer('what is /gone?');
    expect(await other.stop()).to.equal(0);
  });

  it('are registered only when they have changed, and leave no token in the log', async () => {
    expect(program.log()).to.include('registered 16 commands');
    expect(await program.stop()).to.equal(0);
    const again = await start();
    expect(await again.stop('SIGINT')).to.equal(0);
    expect(again.log()).not.to.include('registered');
    for (const log of [program.log(), again.log()]) expect(log).not.to.include(kit.bot.token);
  });
});

describe('sdk/python: the commands of an application', () => {
  const kit = usePythonKit();
  const run = usePrograms();
  const path = (): string => `/api/applications/${kit.bot.applicationId}/commands`;
  const made = [
    {
      name: 'portal',
      description: 'Was made in the portal.',
      options: [{ name: 'a', description: 'An option.', type: 'user', required: true }],
    },
    { name: 'b', description: 'Old.' },
    { name: 'say', kind: 'prefix', prefix: '!', description: '' },
  ];
  const rows: [declared: string[], isRemoving: boolean, left: string[], log: RegExp][] = [
    [
      ['a', 'b'],
      false,
      ['!say', 'a', 'b', 'portal'],
      /registered 2 commands[^]*does not declare stay: !say, \/portal; remove_other_commands/,
    ],
    [[], false, ['!say', 'b', 'portal'], /does not declare stay: !say, \/b, \/portal; remove_other_commands/],
    [['b', 'portal'], true, ['b', 'portal'], /removed the commands that this program does not declare: !say/],
    [['?say'], false, ['?say', 'b', 'portal'], /registered 1 commands[^]*does not declare stay: \/b, \/portal;/],
    [[], true, [], /removed the commands that this program does not declare: !say, \/b, \/portal/],
  ];
  for (const [declared, isRemoving, left, log] of rows)
    it(`are ${left.join(', ') || 'none'} after a program with ${declared.join(', ') || 'none'} that ${isRemoving ? 'removes' : 'keeps'} others`, async () => {
      await send(kit.api, 200, kit.owner, 'PUT', path(), made);
      const program = run('register', { ...kit.env(), ...(isRemoving ? { REMOVE: '1' } : {}) }, ...declared);
      expect(await program.ended, program.log()).to.equal(0);
      const found = await send<{ name: string; prefix?: string; options?: object[] }[]>(kit.api, 200, kit.owner, 'GET', path());
      expect(found.map(({ prefix = '', name }) => prefix + name).sort()).to.deep.equal(left);
      expect(program.log()).to.match(log);
      if (!isRemoving) expect(found.find(({ name }) => name === 'portal')?.options).to.deep.equal(made[0]?.options);
    });

  for (const [first, second] of [
    ['!ping', '?ping'],
    ['!ping', '!ping'],
    ['ping', 'ping'],
  ] as const)
    it(`are refused at their declaration: ${first} and ${second}`, async () => {
      const program = run('register', kit.env(), first, second);
      expect(await program.ended).to.equal(1);
      expect(program.log()).to.match(/ValueError: .*ping is declared twice/);
    });

  it('may have the same name as a slash and as a prefix command', async () => {
    const program = run('register', { ...kit.env(), REMOVE: '1' }, 'ping', '!ping');
    expect(await program.ended, program.log()).to.equal(0);
  });
});

describe('sdk/python: a token that is not valid', () => {
  const kit = usePythonKit();
  const run = usePrograms();

  it('ends the program with an error, at the start and when it is revoked', async () => {
    const wrong = run('record', { ...kit.env(), PARLANCE_TOKEN: 'wrong' });
    expect(await wrong.ended).to.equal(1);
    expect(wrong.log()).to.match(/ApiError: GET \/api\/auth\/me: .* \(401 unauthorized\)/);
    const program = run('record', kit.env());
    await program.waitFor(({ ready }) => ready !== undefined);
    await send(kit.api, 200, kit.owner, 'POST', `/api/applications/${kit.bot.applicationId}/token`);
    expect(await program.ended).to.equal(1);
    expect(program.log()).to.include('GatewayClosed');
  });
});

/** How many messages are posted. `OVERLOAD_MESSAGES=3500` is the full run. */
const messages = Number(process.env.OVERLOAD_MESSAGES ?? 300);
const uses = 8;

describe('sdk/python: a bot that is too slow for what is posted', () => {
  const kit = usePythonKit(async () => ({ RATE_LIMIT: '5000/5000' }));
  const run = usePrograms();

  it('still answers each command', async () => {
    const program = run('overload', { ...kit.env(), LISTENER_SECS: '0.5', STOP_TIMEOUT: '0.1' });
    await program.waitFor(({ ready }) => ready === true);
    const began = Date.now();
    let posted = 0;
    const post = async (): Promise<void> => {
      while (posted < messages) await kit.post(`message ${posted++}`);
    };
    const posting = Promise.all([post(), post(), post(), post()]);
    for (let use = 1; use <= uses; use++) {
      await waitUntil(async () => posted >= (messages * use) / uses, 'the next messages');
      await kit.reach('ping', 'answered'); // a bot that reads nothing misses all
    }
    await posting;
    if (process.env.OVERLOAD_MESSAGES) console.log(`${posted} messages, ${Math.round((posted * 1000) / (Date.now() - began))} a second`);
    expect(program.log()).to.not.include('ended');
  });
});
