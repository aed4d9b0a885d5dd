// Connects repositories of a code host with channels, and shows what came. It runs behind an Interactions Endpoint URL, without a connection.
import { createServer } from 'node:http';
import { ApiError, Client, computePermissions, createEndpoint, hasPermissions } from '@parlance/bot';

const bot = new Client();
const deliveriesShown = 5;

/** Why this person may not manage the webhooks of this channel; undefined if they may. */
async function findRefusal({ serverId, channelId, user }) {
  if (serverId === null) return 'Use this command in a server.';
  const [server, channel] = await Promise.all([bot.api.getServer(serverId), bot.api.getChannel(channelId)]);
  if (channel.kind === 'thread') return 'Use this command in a channel, not in a thread.';
  return hasPermissions(computePermissions(server, user, channel), 'Manage Webhooks')
    ? undefined
    : 'You need the permission Manage Webhooks.';
}

/** Declares a command that only people with Manage Webhooks can use, and whose answer only they see. */
function command(name, description, options, run) {
  bot.command(name, { description, options }, async (interaction) => {
    let content;
    try {
      content = (await findRefusal(interaction)) ?? (await run(interaction));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      content = error.code === 'missing_permission' ? `I need the permission ${error.missing.join(', ')}.` : error.message;
    }
    await interaction.reply({ content, ephemeral: true });
  });
}

const nameOption = { name: { description: 'The name of the repository.', required: true } };
command('connect', 'Connects a repository with this channel.', nameOption, async ({ channelId, options }) => {
  const { url } = await bot.api.createWebhook(channelId, { name: options.name });
  return `Add this webhook to your repository, with the content type application/json and an empty secret. Keep it secret: ${url}/codehost`;
});

command('deliveries', 'Shows what repositories have sent to this channel.', {}, async ({ channelId }) => {
  const webhooks = await bot.api.listWebhooks(channelId);
  const parts = await Promise.all(
    webhooks.map(async ({ id, name }) => {
      const { items } = await bot.api.listWebhookDeliveries(id);
      const lines = items
        .slice(0, deliveriesShown)
        .map(
          ({ event, action, outcome, reason }) =>
            `- ${[event, action].filter(Boolean).join(' ')}: ${outcome}${reason ? ` (${reason})` : ''}`,
        );
      return [`**${name}**`, ...(lines.length > 0 ? lines : ['nothing yet'])].join('\n');
    }),
  );
  return parts.join('\n').slice(0, 2_000) || 'No repository is connected.';
});

await bot.registerCommands();
const { listener } = createEndpoint({ secret: process.env.SIGNING_SECRET, client: bot });
const port = Number(process.env.PORT ?? 3000);
createServer(listener).listen(port, () => console.log(`Listening on port ${port}.`));
