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
    const id = await kit.invoke('slow');
    await kit.person.waitFor(({ t, d }) => t === 'INTERACTION_UPDATE' && d.id === id && d.state === 'deferred');
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
    expect(program.log()).to.include('registered 10 commands');
    expect(await program.stop()).to.equal(0);
    const again = await start();
    expect(await again.stop('SIGINT')).to.equal(0);
    expect(again.log()).not.to.include('registered');
    for (const log of [program.log(), again.log()]) expect(log).not.to.include(kit.bot.token);
  });
});
