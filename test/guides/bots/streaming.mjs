// Asks a language model, and shows its answer in messages that grow while it is written.
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@parlance/bot';

const bot = new Client();
const modelUrl = process.env.MODEL_URL;
const pauseMs = Number(process.env.PAUSE ?? 1) * 1000;
const messageLength = 2_000;

/** The pieces of the model's answer, as they come. */
async function* ask(question) {
  const response = await fetch(modelUrl, { method: 'POST', body: question });
  if (!response.ok) throw new Error(`The model answered ${response.status}.`);
  yield* response.body.pipeThrough(new TextDecoderStream());
}

/** Cuts a text into the contents of messages, and no emoji in halves. */
function toPages(text) {
  const pages = [''];
  for (const character of text) {
    if (pages.at(-1).length + character.length > messageLength) pages.push('');
    pages[pages.length - 1] += character;
  }
  return pages;
}

bot.command(
  'ask',
  { description: 'Asks the model.', options: { question: { description: 'What you want to know.', required: true } } },
  answer,
);

async function answer(interaction) {
  await interaction.reply('…');
  let text = '';
  let isComplete = false;
  let failure;
  const reading = (async () => {
    try {
      for await (const piece of ask(interaction.options.question)) text += piece;
    } catch (error) {
      failure = error;
    } finally {
      isComplete = true;
    }
  })();
  // One edit at a time, with all that is there by then: so they are in order, and a slow edit makes fewer of them.
  const shown = [];
  for (let isLast = false; !isLast; ) {
    isLast = isComplete;
    await showPages(interaction, toPages(text), shown);
    if (!isLast) await Promise.race([pause(pauseMs), reading]);
  }
  if (failure) {
    console.error(failure);
    await interaction.followUp({ content: 'The model failed, so the answer is not complete.', ephemeral: true });
  }
}

/** Edits the messages that have changed. The first one is the answer to the command. `shown`: the id and content of each, changed here. */
async function showPages(interaction, pages, shown) {
  for (const [at, content] of pages.entries()) {
    if (content.trim() === '' || shown[at]?.content === content) continue;
    let id = shown[at]?.id;
    if (at === 0) ({ id } = await interaction.editReply(content));
    else if (id === undefined) ({ id } = await interaction.followUp(content));
    else await bot.api.editMessage(interaction.channelId, id, { content });
    shown[at] = { id, content };
  }
}

await bot.start();
console.log('The bot is online.');
