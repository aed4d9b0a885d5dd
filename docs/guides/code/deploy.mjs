import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Client } from '@parlance/bot';

const sessionFile = process.env.SESSION_FILE ?? 'session.json';

function loadSession() {
  try {
    return JSON.parse(readFileSync(sessionFile, 'utf8'));
  } catch {
    return undefined; // the first start, or a damaged file
  }
}

function saveSession(session) {
  writeFileSync(`${sessionFile}.new`, JSON.stringify(session), { mode: 0o600 });
  renameSync(`${sessionFile}.new`, sessionFile); // so that a crash leaves no half of a file
}

const bot = new Client({ resumeFrom: loadSession() });

bot.on('session', saveSession);
bot.on('messageCreate', async ({ id, channelId, content }) => {
  if (content === '!ping') await bot.api.createMessage(channelId, { content: 'pong', replyTo: id });
});

async function stop() {
  await bot.stop({ keepSession: true }); // waits up to 10 s for handlers that still run
  process.exit(0);
}
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

await bot.start();
console.log('The bot is online.');
