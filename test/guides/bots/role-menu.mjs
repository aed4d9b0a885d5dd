// A menu of roles: people get a role by a reaction and lose it when they take the reaction back. /role does the same without a menu.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ApiError, Client, computePermissions, hasPermissions } from '@parlance/bot';

const emojis = ['🔴', '🟢', '🔵', '🟡', '🟣'];
const read = (file, missing) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return missing;
    throw error;
  }
};
const write = (file, data) => {
  writeFileSync(`${file}.new`, JSON.stringify(data), { mode: 0o600 });
  renameSync(`${file}.new`, file);
};

const menuFile = process.env.DATABASE ?? 'menus.json';
const sessionFile = process.env.SESSION_FILE ?? 'menu-session.json';
const menus = read(menuFile, {}); // by the id of the message: its channel and server, and the role of each emoji
const bot = new Client({ resumeFrom: read(sessionFile) });
const { id: botId } = await bot.api.getMe();

/** Whether a role only decorates, and is not above the person who offers it. */
function canOffer(server, user, role) {
  if (role.id === server.id || role.permissions !== 0) return false;
  const highest = Math.max(0, ...server.roles.filter(({ id }) => user.roles.includes(id)).map(({ position }) => position));
  return user.id === server.ownerId || role.position < highest;
}

const roleOption = (number) => ({ type: 'role', description: `Role ${number}.`, required: number === 1 });
const menuOptions = Object.fromEntries(emojis.map((_, at) => [`role${at + 1}`, roleOption(at + 1)]));
bot.command('role-menu', { description: 'Posts a menu of roles.', options: menuOptions }, async (interaction) => {
  const { serverId, user } = interaction;
  const refuse = (content) => interaction.reply({ content, ephemeral: true });
  if (serverId === null) return refuse('Use this command in a server.');
  const server = await bot.api.getServer(serverId);
  if (!hasPermissions(computePermissions(server, user), 'Manage Roles')) return refuse('You need the permission Manage Roles.');
  const ids = [...new Set(Object.values(interaction.options))].filter((id) => id !== undefined);
  const roles = ids.map((id) => server.roles.find((role) => role.id === id));
  const bad = roles.find((role) => !role || !canOffer(server, user, role));
  if (bad) return refuse(`The role ${bad.name} cannot be in a menu: it has permissions, or is not below you.`);
  const lines = roles.map(({ name }, at) => `${emojis[at]} ${name}`);
  await interaction.reply({ embeds: [{ title: 'Choose your roles', description: lines.join('\n') }] });
  const { id, channelId } = await interaction.fetchReply();
  menus[id] = { channelId, serverId, roles: Object.fromEntries(ids.map((role, at) => [emojis[at], role])) };
  write(menuFile, menus);
  for (const emoji of emojis.slice(0, ids.length)) await bot.api.addReaction(channelId, id, emoji);
});

bot.command('role', { description: 'Gives you a role, or takes it.', options: { role: roleOption(1) } }, async (interaction) => {
  const { serverId, user, options } = interaction;
  const say = (content) => interaction.reply({ content, ephemeral: true });
  await interaction.defer({ ephemeral: true }); // if it is too late for an answer, this throws, and nothing is done
  const offered = Object.values(menus).some((menu) => menu.serverId === serverId && Object.values(menu.roles).includes(options.role));
  if (!offered) return say('That role is in no menu of this server.');
  const has = user.roles.includes(options.role);
  try {
    if (has) await bot.api.removeMemberRole(serverId, user.id, options.role);
    else await bot.api.addMemberRole(serverId, user.id, options.role);
    return await say(has ? 'You have the role no more.' : 'You have the role now.');
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return say(error.code === 'role_hierarchy' ? 'That role is not below mine.' : error.message);
  }
});

const roleOf = ({ messageId, emoji, userId }) => (userId === botId ? undefined : menus[messageId]?.roles[emoji]);
/** Who has left, and roles that were deleted, are no faults. */
const ignoreGone = (error) => {
  if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
};
bot.on('reactionAdd', async (event) => {
  const role = roleOf(event);
  if (role) await bot.api.addMemberRole(event.serverId, event.userId, role).catch(ignoreGone);
});
bot.on('reactionRemove', async (event) => {
  const role = roleOf(event);
  if (role) await bot.api.removeMemberRole(event.serverId, event.userId, role).catch(ignoreGone);
});

// A new session: reactions may have been missed.
bot.on('ready', async () => {
  for (const [messageId, { channelId, serverId, roles }] of Object.entries(menus))
    for (const [emoji, role] of Object.entries(roles))
      try {
        for (const { id: userId } of await bot.api.listReactions(channelId, messageId, emoji))
          if (userId !== botId) await bot.api.addMemberRole(serverId, userId, role).catch(ignoreGone);
      } catch (error) {
        ignoreGone(error);
      }
});

bot.on('session', (session) => write(sessionFile, session));
process.once('SIGTERM', () => void bot.stop({ keepSession: true }));
await bot.start();
console.log('The bot is online.');
