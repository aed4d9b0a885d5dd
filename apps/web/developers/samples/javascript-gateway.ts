import { javascriptKit, quoted, type SampleOf } from './sample.ts';

/** A bot in JavaScript that keeps a connection to the gateway open, registers `/hello` and answers it. */
export const javascriptGateway: SampleOf = (base) => ({
  file: 'bot.mjs',
  install: `npm install ${base}${javascriptKit}`,
  run: 'node bot.mjs',
  secret: 'PARLANCE_TOKEN',
  code: `import { Client } from '@parlance/bot';

const bot = new Client({ url: ${quoted(base)} });

const options = { name: { description: 'The name to greet.' } };
bot.command('hello', { description: 'Says hello.', options }, (interaction) =>
  interaction.reply('Hello, ' + (interaction.options.name ?? interaction.user.displayName) + '!'),
);

bot.on('ready', ({ user }) => console.log('Online as ' + user.username + '. Type /hello in a channel.'));
await bot.start();
`,
});
