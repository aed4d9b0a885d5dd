import { Client, type ClientOptions } from '@parlance/bot';
import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { send } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';
import { startFlakyApi } from './flaky-api.ts';
import { useKit } from './kit-fixture.ts';

/** A promise, and the function that resolves it. */
function makeGate(): [promise: Promise<void>, open: () => void] {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [promise, () => open()];
}

const unanswered = 'The bot has finished without an answer.';

describe('JavaScript kit: commands over the gateway', () => {
  const kit = useKit();
  const errors: unknown[] = [];
  const warnings: string[] = [];
  const [isRefusedDeferred, continueRefused] = makeGate();
  const [isBackgroundEnded, continueBackground] = makeGate();
  const [isDeferred, continueSlow] = makeGate();
  before(async () => {
    const bot = kit.client({ deferAfterMs: 300 });
    bot
      .command(
        'roll',
        {
          description: 'Rolls dice',
          options: { note: { description: 'A note' }, sides: { type: 'integer', description: 'Sides', required: true } },
        },
        async (interaction) => {
          const { sides, note } = interaction.options;
          await interaction.reply(`${sides.toFixed(1)} ${note?.toUpperCase() ?? 'no note'}`);
          await interaction.followUp({ content: 'only for you', ephemeral: true });
        },
      )
      .command('slow', { description: 'Takes its time' }, async (interaction) => {
        await isDeferred;
        await interaction.reply('late, but here');
        await interaction.editReply('late, but edited');
      })
      .command('broken', { description: 'Fails' }, () => {
        throw new Error('a fault of the handler');
      })
      .command('twice', { description: 'Answers twice' }, async (interaction) => {
        await interaction.reply('the first answer');
        await interaction.reply('the second answer');
      })
      .command('long', { description: 'Answers with too much, then less' }, async (interaction) => {
        await interaction.reply('x'.repeat(2_001)).catch(() => interaction.reply('short enough'));
      })
      .command('silent', { description: 'Answers nothing' }, () => undefined)
      .command('deferred', { description: 'Defers and ends' }, (interaction) => interaction.defer())
      .command('raw', { description: 'Answers by requests of its own' }, async ({ raw }) => {
        await bot.api.answerInteraction(raw.id, raw.token, { type: 'message', content: 'a raw answer' });
      })
      .command('rawlater', { description: 'Defers, and answers by a request of its own' }, async (interaction) => {
        await interaction.defer();
        await bot.api.createFollowup(interaction.raw.id, interaction.raw.token, { content: 'a raw follow-up' });
      })
      .command('background', { description: 'Answers after it has ended' }, async (interaction) => {
        await interaction.defer();
        void isBackgroundEnded.then(() => interaction.reply('from the background'));
      })
      .command('refused', { description: 'Is refused, works on, and answers' }, async (interaction) => {
        await interaction.reply('x'.repeat(2_001)).catch(() => undefined);
        await isRefusedDeferred;
        await interaction.reply('after a refusal');
      })
      .prefixCommand('!', 'echo', 'Repeats', async ({ words, reply }) => reply(words.reverse().join(' ')))
      .on('error', (error) => errors.push(error))
      .on('warning', (text) => warnings.push(text));
    await bot.start();
  });

  it('pass typed options, and answer and follow up', async () => {
    await kit.invoke('roll', { sides: 6, note: 'lucky' });
    expect((await kit.answer('6.0 LUCKY')).interaction?.name).to.equal('roll');
    expect((await kit.answer('only for you')).ephemeral).to.equal(true);
    await kit.invoke('roll', { sides: 20 });
    await kit.answer('20.0 no note');
  });

  it('are deferred when the handler takes long, and then answered and edited', async () => {
    await kit.reach('slow', 'deferred');
    continueSlow();
    const { id: messageId } = await kit.answer('late, but here');
    await waitUntil(async () => {
      const { body } = await kit.api.call('GET', `/api/channels/${kit.server.general}/messages/${messageId}`, { as: kit.owner.as });
      return body.content === 'late, but edited';
    }, 'the edit');
  });

  it('apologize to the person when the handler fails, and report the error', async () => {
    await kit.invoke('broken');
    expect((await kit.answer('Something went wrong. Please try again later.')).ephemeral).to.equal(true);
    expect(errors.splice(0)).to.have.nested.property('[0].message', 'a fault of the handler');
  });

  it('are answered once', async () => {
    await kit.invoke('twice');
    await kit.answer('the first answer');
    await waitUntil(() => errors.length > 0, 'the error');
    expect(String(errors.splice(0))).to.contain('/twice is already answered');
  });

  it('can be answered after an answer was refused', async () => {
    await kit.invoke('long');
    await kit.answer('short enough');
  });

  for (const name of ['silent', 'deferred'])
    it(`are ended, with a warning, when the handler has not answered (/${name})`, async () => {
      await kit.reach(name, 'answered');
      expect((await kit.answer(unanswered)).ephemeral).to.equal(true);
      expect(warnings.splice(0).filter((text) => text.includes(`/${name} has ended without an answer`))).to.have.length(1);
    });

  for (const [name, content] of [
    ['raw', 'a raw answer'],
    ['rawlater', 'a raw follow-up'],
  ] as const)
    it(`are left alone when the handler has answered by requests of its own (/${name})`, async () => {
      await kit.invoke(name);
      expect((await kit.answer(content)).interaction?.name).to.equal(name);
      await kit.invoke('roll', { sides: content.length });
      await kit.answer(`${content.length}.0 no note`);
      expect(warnings).to.deep.equal([]);
    });

  it('are still answered from the background after they were ended', async () => {
    await kit.reach('background', 'answered');
    continueBackground();
    await kit.answer('from the background');
    warnings.length = 0;
  });

  it('are deferred after a refused answer, as long as the handler runs', async () => {
    await kit.reach('refused', 'deferred');
    continueRefused();
    await kit.answer('after a refusal');
  });

  it('with a prefix run for people', async () => {
    await kit.post(['!echo one two', 'no !echo', '!echoes']);
    const { content, reply } = await kit.answer('two one');
    expect([content, reply?.content]).to.deep.equal(['two one', '!echo one two']);
  });
});

describe('JavaScript kit: registering commands', () => {
  const kit = useKit();
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const warnings: string[] = [];
  const path = (): string => `/api/applications/${kit.bot.applicationId}/commands`;
  const portal = [
    { name: 'portal', description: 'From the portal', options: [{ name: 'text', description: 'A text', required: true }] },
    { kind: 'prefix', prefix: '!', name: 'echo', description: 'Also from there' },
  ];
  const registered = async (): Promise<string[]> =>
    (await send<{ name: string; description: string }[]>(kit.api, 200, kit.owner, 'GET', path()))
      .map(({ name, description }) => `${name}: ${description}`)
      .sort();
  const makeClient = (options: ClientOptions = {}): Client =>
    kit.client({ url: flaky.url, ...options }).on('warning', (text) => warnings.push(text));
  beforeEach(async () => {
    await send(kit.api, 200, kit.owner, 'PUT', path(), portal);
    warnings.length = 0;
    flaky.arrivals.length = 0;
  });

  it('keeps the commands that are not declared, and names them and the option that removes them', async () => {
    await makeClient()
      .command('one', { description: 'First' }, () => undefined)
      .registerCommands();
    expect(await registered()).to.deep.equal(['echo: Also from there', 'one: First', 'portal: From the portal']);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('/portal, !echo').and.to.contain('removeOtherCommands');
  });

  it('keeps them as they are, with their ids and options', async () => {
    const list = () => send<{ id: string; name: string }[]>(kit.api, 200, kit.owner, 'GET', path());
    const before = await list();
    await makeClient()
      .command('one', { description: 'First' }, () => undefined)
      .registerCommands();
    expect((await list()).filter(({ name }) => name !== 'one')).to.have.deep.members(before);
  });

  it('changes a declared command, and another one of the same name and another kind stays', async () => {
    const client = makeClient().command('portal', { description: 'Changed' }, () => undefined);
    await client.command('echo', { description: 'Slash' }, () => undefined).registerCommands();
    expect(await registered()).to.deep.equal(['echo: Also from there', 'echo: Slash', 'portal: Changed']);
  });

  it('removes the others when it is told to, also if none is declared', async () => {
    await makeClient({ removeOtherCommands: true })
      .command('one', { description: 'First' }, () => undefined)
      .registerCommands();
    expect(await registered()).to.deep.equal(['one: First']);
    await makeClient({ removeOtherCommands: true }).registerCommands();
    expect(await registered()).to.deep.equal([]);
    expect(warnings).to.deep.equal([]);
  });

  for (const removeOtherCommands of [false, true])
    it(`at a start without commands ${removeOtherCommands ? 'removes all' : 'names those that stay'}`, async () => {
      const client = makeClient({ removeOtherCommands });
      await client.start();
      if (!removeOtherCommands) await waitUntil(() => warnings.length === 1, 'the warning');
      expect(await registered()).to.have.length(removeOtherCommands ? 0 : 2);
      expect(warnings.join()).to.contain(removeOtherCommands ? '' : '/portal, !echo');
      await client.stop();
    });

  it('sends nothing if the commands have not changed', async () => {
    const declare = async (description: string): Promise<string[]> => {
      const client = makeClient();
      await client.command('one', { description, options: { text: { description: 'Text' } } }, () => undefined).registerCommands();
      return flaky.arrivals.splice(0).map(({ line }) => line.slice(0, 3));
    };
    expect(await declare('First')).to.deep.equal(['GET', 'GET', 'PUT']);
    expect(await declare('First')).to.deep.equal(['GET', 'GET']);
    expect(await declare('Second')).to.deep.equal(['GET', 'GET', 'PUT']);
  });
});
