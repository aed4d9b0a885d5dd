import { type KnownServer, mayView } from './oracle.ts';
import { type Account, isGood, nextName, pickFrom, send, textChannels, type World } from './world.ts';

/** The channel of a server that follows the news of others. It is deleted only with its server. */
const findTarget = (server: KnownServer): string | undefined => textChannels(server)[0];

/** Lets each server follow the news of the one before it. */
export async function followNews(world: World): Promise<void> {
  for (const [at, server] of world.servers.entries()) {
    const channelId = findTarget(server);
    const news = world.news.get(world.servers.at(at - 1)?.id ?? '');
    if (!news || channelId === undefined || news.followers.some((one) => one.channelId === channelId)) continue;
    const answer = await send(world, world.owner, 'POST', `/channels/${news.id}/followers`, { channelId });
    if (isGood(answer)) news.followers.push({ server, channelId });
  }
}

/** Posts news, and has them copied to those who follow them. */
async function publish(world: World, server: KnownServer): Promise<void> {
  const news = world.news.get(server.id);
  if (!news || !server.channels.has(news.id)) return;
  const content = nextName('n');
  const posted = await send(world, world.owner, 'POST', `/channels/${news.id}/messages`, { content });
  if (!isGood(posted)) return;
  const accountIds = world.accounts.map(({ id }) => id);
  for (const target of news.followers) world.oracle.copyBegan(target, { server, channelId: news.id }, content, accountIds);
  const answer = await send(world, world.owner, 'POST', `/channels/${news.id}/messages/${posted.body.id}/crosspost`);
  if (!isGood(answer)) world.oracle.copiesRefused(content);
}

/** Uses the command of a bot, which answers for the person only. */
async function useCommand(world: World, server: KnownServer, author: Account, channelId: string): Promise<void> {
  const bot = pickFrom(
    world,
    world.accounts.filter(({ id, commandId }) => commandId !== undefined && server.members.has(id)),
  );
  if (bot && author.applicationId === null) await send(world, author, 'POST', `/channels/${channelId}/commands/${bot.commandId}/invoke`);
}

/** Posts into a channel, and sometimes edits, reacts to or pins what it posted. */
export async function postInto(world: World, server: KnownServer, author: Account, channelId: string): Promise<void> {
  const content = nextName('p');
  world.oracle.postBegan(content);
  const answer = await send(world, author, 'POST', `/channels/${channelId}/messages`, { content });
  if (!isGood(answer)) return;
  world.oracle.posted(
    server,
    channelId,
    content,
    answer.body.id,
    world.accounts.map(({ id }) => id),
  );
  const at = `/channels/${channelId}/messages/${answer.body.id}`;
  const next = world.addresses.pick(12);
  if (next === 0) await send(world, author, 'PATCH', at, { content: `${content} edited` });
  else if (next === 1) await send(world, author, 'PUT', `${at}/reactions/${encodeURIComponent('👍')}`);
  else if (next === 2) await send(world, world.owner, 'PUT', `/channels/${channelId}/pins/${answer.body.id}`);
}

/** Posts into a random channel of a server that the account may view, as far as is known; or uses a command there, or publishes news. */
export async function post(world: World, server: KnownServer): Promise<void> {
  const author = pickFrom(
    world,
    world.accounts.filter(({ id }) => server.members.has(id)),
  );
  const channelId =
    author &&
    pickFrom(
      world,
      [...server.channels.keys()].filter((id) => mayView(server, author.id, id)),
    );
  if (!author || channelId === undefined) return;
  const what = world.addresses.pick(10);
  if (what === 0) await useCommand(world, server, author, channelId);
  else if (what === 1) await publish(world, server);
  else await postInto(world, server, author, channelId);
}
