import { parseMarkup, type Token } from '../../../../lib/base/markup.ts';
import { nameOf, userOf } from '../../state/people.ts';
import { channels, servers } from '../../state/servers.ts';
import type { MentionKind } from './composer-tokens.ts';

/** Returns the name of a role in a server. */
export const roleNameOf = (serverId: string | null, roleId: string): string =>
  servers.value
    .get(serverId ?? '')
    ?.roles.find(({ id }) => id === roleId)
    ?.name.replace(/^@/, '') ?? 'unknown role';

/** Returns the name of a channel; a channel that the user may not see is unknown. */
export const channelNameOf = (channelId: string): string => channels.value.get(channelId)?.name ?? 'unknown channel';

/** Returns the names for a mention, best first; none for an account or channel that is not known. */
export function mentionNames(serverId: string | null): (kind: MentionKind, id: string) => string[] {
  return (kind, id) => {
    if (kind === 'channelMention') return channels.value.has(id) ? [channelNameOf(id), `${channelNameOf(id)}-${id.slice(-4)}`] : [];
    if (kind === 'roleMention') return [roleNameOf(serverId, id)];
    const user = userOf(id);
    return user ? [user.displayName, user.username] : [];
  };
}

/** The text of a custom emoji, for which there are no images. */
export const customEmojiText = (name: string): string => `:${name}:`;

function textOf(token: Token, serverId: string | null): string {
  switch (token.type) {
    case 'text':
    case 'code':
    case 'codeblock':
      return token.text;
    case 'link':
      return token.url;
    case 'userMention':
      return `@${nameOf(token.id)}`;
    case 'roleMention':
      return `@${roleNameOf(serverId, token.id)}`;
    case 'channelMention':
      return `#${channelNameOf(token.id)}`;
    case 'everyone':
      return `@${token.kind}`;
    case 'emoji':
      return customEmojiText(token.name);
    case 'spoiler':
      return '(spoiler)';
    default:
      return token.children.map((child) => textOf(child, serverId)).join('');
  }
}

/** Returns a content as one line without formatting, for previews and screen readers. Spoilers stay hidden. */
export const plainText = (content: string, serverId: string | null): string =>
  parseMarkup(content)
    .map((token) => textOf(token, serverId))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();

/** Matches emoji and white space only. */
const emojiOrSpace = new RegExp('^(?:\\p{RGI_Emoji}|\\s)+$', 'v');
const maxLarge = 30;

/** Whether a content is only a few emoji, which are then shown larger. */
export const isEmojiOnly = (tokens: readonly Token[]): boolean =>
  tokens.length > 0 &&
  tokens.length <= maxLarge &&
  tokens.every(
    (token) => token.type === 'emoji' || (token.type === 'text' && token.text.length <= maxLarge * 4 && emojiOrSpace.test(token.text)),
  ) &&
  tokens.some((token) => token.type === 'emoji' || (token.type === 'text' && token.text.trim() !== ''));
