import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { useKit } from './kit-fixture.ts';

describe('JavaScript kit: commands over the gateway', () => {
  const kit = useKit();
  const errors: unknown[] = [];
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
      .prefixCommand('!', 'echo', 'Repeats', async ({ words, reply }) => reply(words.reverse().join(' ')))
      .on('error', (error) => errors.push(error));
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
    const id = await kit.invoke('slow');
    await waitUntil(async () => {
      const { body } = await kit.api.call('GET', `/api/interactions/${id}`, { as: kit.owner.as });
      return body.state === 'deferred';
    }, 'the automatic defer');
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

  it('with a prefix run for people', async () => {
    await kit.post(['!echo one two', 'no !echo', '!echoes']);
    const { content, reply } = await kit.answer('two one');
    expect([content, reply?.content]).to.deep.equal(['two one', '!echo one two']);
  });
});
