// Deletes unwanted messages, and lets moderators warn, kick and ban. What was done is written into the channel #mod-log.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ApiError, Client, computePermissions, hasPermissions } from '@parlance/bot';

const bot = new Client();
const forbidden = /\bfree coins\b|\bcheap watches\b/i;
const warningsAllowed = 2;
const file = process.env.DATABASE ?? 'warnings.json';
const warnings = readWarnings();

function readWarnings() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw error;
  }
}

/** Counts one more warning of a person. */
function addWarning(serverId, userId) {
  const key = `${serverId} ${userId}`;
  warnings[key] = (warnings[key] ?? 0) + 1;
  writeFileSync(`${file}.new`, JSON.stringify(warnings));
  renameSync(`${file}.new`, file);
  return warnings[key];
}

/** Writes into #mod-log. The details are in an embed, which mentions nobody. */
async function log(server, title, description) {
  const channel = server.channels.find(({ name }) => name === 'mod-log');
  if (channel) await bot.api.createMessage(channel.id, { embeds: [{ title, description: description.slice(0, 4_000) }] });
}

/** A member of a server; null if the person is none. */
async function findMember(serverId, userId) {
  try {
    const { user, roles } = await bot.api.getMember(serverId, userId);
    return { id: user.id, roles };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return null;
    throw error;
  }
}

/** How high a member stands: the owner above all, then by the highest role. */
function rankOf(server, { id, roles }) {
  if (id === server.ownerId) return Number.POSITIVE_INFINITY;
  return Math.max(0, ...server.roles.filter((role) => roles.includes(role.id)).map(({ position }) => position));
}

async function warn(server, userId, reason) {
  const count = addWarning(server.id, userId);
  const { id: channelId } = await bot.api.openDirectMessage({ recipientId: userId });
  await bot.api.createMessage(channelId, { content: `You are warned in ${server.name}: ${reason}` });
  if (count <= warningsAllowed) return `warned (${count} of ${warningsAllowed})`;
  await bot.api.kickMember(server.id, userId);
  return `warned for the ${count}th time and kicked`;
}

const actions = {
  warn: { description: 'Warns a member.', needs: 'Manage Messages', run: warn },
  kick: {
    description: 'Removes a member.',
    needs: 'Kick Members',
    run: async (server, userId) => {
      await bot.api.kickMember(server.id, userId);
      return 'kicked';
    },
  },
  ban: {
    description: 'Removes a person for good.',
    needs: 'Ban Members',
    run: async (server, userId, reason) => {
      await bot.api.banMember(server.id, userId, { reason });
      return 'banned';
    },
  },
};

const options = {
  who: { type: 'user', description: 'The person.', required: true },
  reason: { description: 'Why. The person is told it.' },
};
for (const [name, { description, needs, run }] of Object.entries(actions))
  bot.command(name, { description, options }, async (interaction) => {
    const { serverId, user } = interaction;
    const { who, reason = 'no reason given' } = interaction.options;
    const say = (content) => interaction.reply({ content, ephemeral: true });
    await interaction.defer({ ephemeral: true }); // if it is too late for an answer, this throws, and nothing is done
    if (serverId === null) return say('Use this command in a server.');
    const server = await bot.api.getServer(serverId);
    if (!hasPermissions(computePermissions(server, user), needs)) return say(`You need the permission ${needs}.`);
    const target = await findMember(serverId, who);
    if (!target && name !== 'ban') return say('That person is not in this server.');
    if (target && rankOf(server, target) >= rankOf(server, user)) return say('That member is not below you.');
    try {
      const done = await run(server, who, reason.slice(0, 500));
      await log(server, `/${name}`, `<@${who}> was ${done} by <@${user.id}>: ${reason}`);
      return await say(`<@${who}> was ${done}.`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'missing_permission') return say(`I need the permission ${error.missing.join(', ')}.`);
      return say(error.code === 'role_hierarchy' ? 'That member is not below me.' : error.message);
    }
  });

async function check({ id, channelId, serverId, content, author }) {
  if (!serverId || author.tag === 'bot' || author.tag === 'verified_bot' || !forbidden.test(content)) return;
  const server = await bot.api.getServer(serverId);
  const member = await findMember(serverId, author.id);
  if (member && hasPermissions(computePermissions(server, member), 'Manage Messages')) return;
  try {
    await bot.api.deleteMessage(channelId, id);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return; // somebody was faster
    throw error;
  }
  await log(server, 'Deleted', `A message of <@${author.id}> in <#${channelId}>: ${content}`);
}

bot.on('messageCreate', check);
bot.on('messageUpdate', check);

await bot.start();
console.log('The bot is online.');
