import { refuse, refuseField } from '../base/errors.ts';
import { idTimeMs, isId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { mentionsOf } from '../base/markup.ts';
import { holds } from '../base/permissions.ts';
import { isBlank, lengthOf } from '../base/text.ts';
import type { Embed } from '../contract/message.ts';
import { isDuplicate } from '../store/database.ts';
import type { MessageDoc } from '../store/models/message.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import type { ServerAccess } from './access.ts';
import { notePosted } from './dm-activity.ts';
import { accountsOf } from './faces.ts';
import type { Place } from './places.ts';

/** The characters that count towards an embed's whole: everything that is shown as text. */
const embedChars = (embed: Embed): number =>
  [
    embed.title,
    embed.description,
    embed.author?.name,
    embed.footer?.text,
    ...(embed.fields ?? []).flatMap((field) => [field.name, field.value]),
  ].reduce((sum, text) => sum + lengthOf(text ?? ''), 0);

const knownField = ({ name, value, inline }: NonNullable<Embed['fields']>[number]) => ({ name, value, inline: inline ?? false });

/** An embed with the fields that the contract knows and no others: what a caller adds is never stored. */
export function knownEmbed(embed: Embed): Embed {
  const { title, description, url, color, timestamp, author, footer, image, thumbnail, fields } = embed;
  const known = {
    title,
    description,
    url,
    color,
    timestamp,
    author: author && {
      name: author.name,
      ...(author.url ? { url: author.url } : {}),
      ...(author.iconUrl ? { iconUrl: author.iconUrl } : {}),
    },
    footer: footer && { text: footer.text },
    image: image && { url: image.url },
    thumbnail: thumbnail && { url: thumbnail.url },
    fields: fields?.map(knownField),
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) as Embed;
}

/** Refuses embeds that are empty or longer than 6,000 characters in all; answers them with known fields only (decisions 5). */
export function checkEmbeds(embeds: readonly Embed[]): Embed[] {
  return embeds.map((given, at) => {
    const embed = knownEmbed(given);
    if (Object.keys(embed).length === 0) refuseField(`/embeds/${at}`, 'is empty');
    if (embedChars(embed) > limits.embedTotalChars)
      refuseField(`/embeds/${at}`, `is longer than ${limits.embedTotalChars} characters in all`);
    return embed;
  });
}

/** Refuses a message that would show nothing: no content that can be seen and no embed (edge case 2). Schema bounds were checked before. */
export function checkDraft(input: { content?: string; embeds?: Embed[] }): { content: string; embeds: Embed[] } {
  const embeds = checkEmbeds(input.embeds ?? []);
  const content = input.content ?? '';
  if (isBlank(content) && embeds.length === 0) refuse('invalid_request', { reason: 'a message needs content or embeds' });
  return { content, embeds };
}

/** Whom a content mentions, as stored (decisions 5). */
export interface Mentions {
  mentions: string[];
  mentionRoles: string[];
  mentionEveryone: boolean;
}

/**
 * Resolves the mentions of `content` for an author with `permissions` in the channel: users and roles that exist, each once; `@everyone`, `@here` and the
 * role `@everyone` count only with Mention Everyone, and never stand among the roles.
 */
export async function resolveMentions(
  platform: Platform,
  content: string,
  access: ServerAccess | null,
  permissions: number,
): Promise<Mentions> {
  if (!content.includes('@')) return { mentions: [], mentionRoles: [], mentionEveryone: false };
  const found = mentionsOf(content);
  const serverId = access?.server._id;
  const users = found.users.filter(isId);
  const accounts = await accountsOf(platform, users);
  const roles = new Set(access?.server.roles.map((role) => role.id));
  const everyone = found.everyone || found.here || (serverId !== undefined && found.roles.includes(serverId));
  return {
    mentions: users.filter((id) => accounts.has(id)),
    mentionRoles: found.roles.filter((id) => id !== serverId && roles.has(id)),
    mentionEveryone: everyone && holds(permissions, 'Mention Everyone'),
  };
}

/** What a message is made of. */
export interface Composition {
  id: string;
  /** Where it is posted; its permissions are the author's and decide about `@everyone`. */
  place: Place;
  authorId: string;
  content: string;
  embeds: Embed[];
  /** The message replied to. */
  replyTo?: MessageDoc | null;
  /** Whether the reply pings its author. Default true; replying to oneself never pings. */
  mentionReply?: boolean;
  interaction?: MessageDoc['interaction'];
}

/** A message ready to be stored, its mentions resolved. */
export async function composeMessage(platform: Platform, parts: Composition): Promise<MessageDoc> {
  const { place } = parts;
  const resolved = await resolveMentions(platform, parts.content, place.access, place.permissions);
  const answered = parts.replyTo ?? null;
  const pings = answered !== null && parts.mentionReply !== false && answered.authorId !== parts.authorId && !answered.face;
  if (pings && !resolved.mentions.includes(answered.authorId)) resolved.mentions.push(answered.authorId);
  return {
    _id: parts.id,
    channelId: place.channelId,
    serverId: place.serverId,
    authorId: parts.authorId,
    content: parts.content,
    embeds: parts.embeds,
    attachments: [],
    ...resolved,
    replyTo: answered?._id ?? null,
    interaction: parts.interaction ?? null,
    createdAt: new Date(idTimeMs(parts.id)),
    editedAt: null,
    ...(place.channel?.kind === 'thread' ? { thread: true as const } : {}),
  };
}

/**
 * Stores a message together with the MESSAGE_CREATE it owes, then wakes the channel's drain (quality 2). A message of the same id that already stands is
 * answered as it is: a create taken up after a crash makes nothing twice.
 */
export async function storeMessage(platform: EnqueuePlatform, message: MessageDoc, nonce?: string): Promise<MessageDoc> {
  const entry = { id: platform.ids.next(), name: 'MESSAGE_CREATE' as const, ...(nonce === undefined ? {} : { nonce }) };
  try {
    await platform.db.messages.collection.insertOne({ ...message, ob: [entry], obAt: new Date(platform.now()) } as never);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const standing = await platform.db.messages.findOne({ _id: message._id }).lean();
    if (!standing || standing.channelId !== message.channelId || standing.authorId !== message.authorId) throw error;
    message = standing;
  }
  platform.nudge('drain-channel', { channelId: message.channelId });
  if (message.serverId === null && !message.deleted) await notePosted(platform, message);
  return message;
}
