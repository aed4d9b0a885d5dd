import { readFile, rm, writeFile } from 'node:fs/promises';
import { Client } from '@parlance/bot';

const sessionFile = process.env.SESSION_FILE ?? 'session.json';
const saved = await readFile(sessionFile, 'utf8').catch(() => null);
await rm(sessionFile, { force: true });
const bot = new Client({ resumeFrom: saved ? JSON.parse(saved) : undefined });

bot.on('messageCreate', async ({ id, channelId, content }) => {
  if (content === '!ping') await bot.api.createMessage(channelId, { content: 'pong', replyTo: id });
});
bot.on('error', (error) => console.error(error));

async function stop() {
  await bot.stop({ keepSession: true }); // waits up to 10 s for handlers that still run
  await writeFile(sessionFile, JSON.stringify(bot.session), { mode: 0o600 });
  process.exit(0);
}
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

await bot.start();
console.log('The bot is online.');
