// Polls: people vote with reactions, and after some time the result is posted. A restart loses no poll.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ApiError, Client } from '@parlance/bot';

const bot = new Client();
const digits = ['1️⃣', '2️⃣', '3️⃣', '4️⃣', '5️⃣', '6️⃣', '7️⃣', '8️⃣', '9️⃣'];
const minuteMs = Number(process.env.SECONDS_PER_MINUTE ?? 60) * 1000;
const longestMinutes = 7 * 24 * 60;
const retryMs = 30_000;
const file = process.env.DATABASE ?? 'polls.json';
const polls = new Map(readPolls().map((poll) => [poll.messageId, poll]));

function readPolls() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

function savePolls() {
  writeFileSync(`${file}.new`, JSON.stringify([...polls.values()]));
  renameSync(`${file}.new`, file);
}

const pollOptions = {
  question: { description: 'What you ask.', required: true },
  choices: { description: 'The choices, separated by commas.', required: true },
  minutes: { type: 'integer', description: 'How long people can vote. 60 by default.' },
};
bot.command('poll', { description: 'Starts a poll.', options: pollOptions }, async (interaction) => {
  const { question, minutes = 60 } = interaction.options;
  const choices = interaction.options.choices
    .split(',')
    .map((choice) => choice.trim())
    .filter((choice) => choice !== '');
  const refuse = (content) => interaction.reply({ content, ephemeral: true });
  if (choices.length < 2 || choices.length > digits.length) return refuse(`Give 2 to ${digits.length} choices.`);
  if (minutes < 1 || minutes > longestMinutes) return refuse(`Give 1 to ${longestMinutes} minutes.`);
  const lines = choices.map((choice, at) => `${digits[at]} ${choice}`);
  await interaction.reply({ embeds: [{ title: question.slice(0, 250), description: lines.join('\n').slice(0, 4_000) }] });
  const { id: messageId, channelId } = await interaction.fetchReply();
  polls.set(messageId, { messageId, channelId, question, choices, startedAt: Date.now(), minutes });
  savePolls();
  schedule(messageId);
  // One after another, so that they stand in this order.
  for (const digit of digits.slice(0, choices.length)) await bot.api.addReaction(channelId, messageId, digit);
});

/** Ends a poll when its time is over. */
function schedule(messageId) {
  const { startedAt, minutes } = polls.get(messageId);
  setTimeout(() => void tryToEnd(messageId), Math.max(0, startedAt + minutes * minuteMs - Date.now()));
}

async function tryToEnd(messageId) {
  try {
    await end(polls.get(messageId));
  } catch (error) {
    const isGone = error instanceof ApiError && ['not_found', 'missing_permission'].includes(error.code);
    if (!isGone) {
      console.error(`Trying again later: ${error.message}`);
      setTimeout(() => void tryToEnd(messageId), retryMs);
      return;
    }
  }
  polls.delete(messageId);
  savePolls();
}

async function end({ messageId, channelId, question, choices }) {
  const { reactions } = await bot.api.getMessage(channelId, messageId);
  const votes = choices.map((choice, at) => {
    const reaction = reactions.find(({ emoji }) => emoji === digits[at]);
    return { choice, count: reaction ? reaction.count - Number(reaction.me) : 0 }; // without the one of the bot
  });
  const most = Math.max(...votes.map(({ count }) => count));
  const lines = votes.map(({ choice, count }) => `${count === most && most > 0 ? '🏆 ' : ''}${choice}: ${count}`);
  const embed = { title: `Result: ${question}`.slice(0, 250), description: lines.join('\n').slice(0, 4_000) };
  await bot.api.createMessage(channelId, { embeds: [embed], replyTo: messageId }, { idempotencyKey: `poll-${messageId}` });
}

await bot.start();
for (const messageId of polls.keys()) schedule(messageId);
console.log('The bot is online.');
