import { javascriptKit, quoted, type SampleOf } from './sample.ts';

/** An Interactions Endpoint in JavaScript that checks each request's signature and answers `/hello`. */
export const javascriptEndpoint: SampleOf = (base) => ({
  file: 'endpoint.mjs',
  install: `npm install ${base}${javascriptKit}`,
  run: 'node endpoint.mjs',
  secret: 'SIGNING_SECRET',
  code: `import { createServer } from 'node:http';
import { Client, createEndpoint } from '@parlance/bot';

const bot = new Client({ url: ${quoted(base)} });

const options = { name: { description: 'The name to greet.' } };
bot.command('hello', { description: 'Says hello.', options }, (interaction) =>
  interaction.reply('Hello, ' + (interaction.options.name ?? interaction.user.displayName) + '!'),
);

const port = Number(process.env.PORT ?? 3000);
const endpoint = createEndpoint({ secret: process.env.SIGNING_SECRET, client: bot });
createServer(endpoint.listener).listen(port, () => console.log('Listening on port ' + port + '.'));
`,
});
