import { Client } from '@parlance/bot';

const bot = new Client();

const rollOptions = {
  sides: { description: 'How many sides the die has.', type: 'integer', required: true },
  quiet: { description: 'Show the result only to you.', type: 'boolean' },
};
bot.command('roll', { description: 'Rolls a die.', options: rollOptions }, async (interaction) => {
  const { sides, quiet = false } = interaction.options;
  if (sides < 2) return interaction.reply({ content: 'A die has at least 2 sides.', ephemeral: true });
  return interaction.reply({ content: `You rolled ${1 + Math.floor(Math.random() * sides)}.`, ephemeral: quiet });
});

async function countMembers(serverId) {
  let count = 0;
  for (let after; ; ) {
    const page = await bot.api.listMembers(serverId, { limit: 1000, after });
    count += page.length;
    if (page.length < 1000) return count;
    after = page.at(-1).user.id;
  }
}

bot.command('count', { description: 'Counts the members of this server.' }, async (interaction) => {
  if (interaction.serverId === null) return interaction.reply('Use this command in a server.');
  await interaction.defer();
  await interaction.reply(`This server has ${await countMembers(interaction.serverId)} members.`);
  return interaction.followUp({ content: 'Only you see this message.', ephemeral: true });
});

await bot.start();
console.log('The bot is online.');
