import { Client } from '@parlance/bot';

const bot = new Client();

bot.on('messageUpdate', (message) => console.log(`Edited: ${message.content}`));
bot.on('messageDelete', ({ id }) => console.log(`Deleted: ${id}`));
bot.on('reactionAdd', ({ emoji, messageId }) => console.log(`Reaction ${emoji} on ${messageId}`));

bot.on('resumed', ({ replayed }) => console.log(`Back again. ${replayed} events were missed and are now here.`));
bot.on('eventsMissed', ({ reason }) => console.log(`Events are missing (${reason}). Load what you need again.`));

await bot.start();
console.log('The bot is online.');
