import { createServer } from 'node:http';
import { Client, createEndpoint } from '@parlance/bot';

const bot = new Client(); // PARLANCE_TOKEN is needed only to register the commands

bot.command('hello', { description: 'Says hello.' }, (interaction) => interaction.reply(`Hello, ${interaction.user.displayName}!`));

await bot.registerCommands();
const endpoint = createEndpoint({ secret: process.env.SIGNING_SECRET, client: bot });
const port = Number(process.env.PORT ?? 3000);
createServer(endpoint.listener).listen(port, () => console.log(`Listening on port ${port}.`));
