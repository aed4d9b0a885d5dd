import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { useKit } from './kit-fixture.ts';

const unanswered = 'The bot has finished without an answer.';

describe('JavaScript kit: commands over the gateway', () => {
  const kit = useKit();
  const errors: unknown[] = [];
  const warnings: string[] = [];
  let continueRefused = (): void => undefined;
  const isRefusedDeferred = new Promise<void>((resolve) => {
    continueRefused = resolve;
  });
  let continueBackground = (): void => undefined;
  const isBackgroundEnded = new Promise<void>((resolve) => {
    continueBackground = resolve;
  });
  let continueSlow = (): void => undefined;
  const isDeferred = new Promise<void>((resolve) => {
    continueSlow = resolve;
  });
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
