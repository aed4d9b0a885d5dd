import { AtSign, Hash, Megaphone, MessagesSquare, Shield } from 'lucide';
import type { ComponentChildren } from 'preact';
import { foldSearch } from '../../../../lib/base/text.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { historyOf } from '../../state/histories.ts';
import { membersOf, type User, userOf } from '../../state/people.ts';
import { may } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';
import { me } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Icon } from '../../ui/icon.tsx';
import { type ChannelContext, holdsMessages } from '../channel-context.ts';
import type { Meaning } from './composer-tokens.ts';
import { skinTone } from './emoji-preferences.ts';
import { type Emoji, findEmojis } from './emojis.ts';

/** What accepting a suggestion does: inserts text, inserts a readable word with its meaning, or begins a command. */
export type Choice =
  | { kind: 'text'; text: string }
  | { kind: 'token'; sign: '@' | '#'; names: readonly string[]; meaning: Meaning }
  | { kind: 'command'; command: PickerCommand };

/** One row of the completion list. */
export interface Suggestion {
  /** The id of the suggested object, unique in the list. */
  id: string;
  picture: ComponentChildren;
  label: string;
  detail: string;
  /** The heading above it. */
  group?: string;
  choice: Choice;
}

/** The maximum number of rows in a list, and of commands, which are grouped and scroll. */
const maxRows = 10;
const maxCommands = 60;

const foldedNames = new WeakMap<User, { name: string; username: string }>();

/** Returns the names of an account in the form that searches compare. They are cached, because a server may have 10,000 members. */
function foldedOf(user: User): { name: string; username: string } {
  const known = foldedNames.get(user) ?? { name: foldSearch(user.displayName), username: user.username };
  foldedNames.set(user, known);
  return known;
}

/** Ranks how well names match the searched text: 0 is best, undefined is no match. A searched text that contains a space must match the beginning of a name. */
function rankOf(names: readonly string[], wanted: string): number | undefined {
  if (names.some((name) => name.startsWith(wanted))) return 0;
  if (wanted.includes(' ')) return undefined;
  if (names.some((name) => name.includes(` ${wanted}`))) return 1;
  return names.some((name) => name.includes(wanted)) ? 2 : undefined;
}

/** Returns the best matches of a list, best first. */
function bestOf<T>(list: Iterable<T>, rank: (one: T) => number | undefined, limit = maxRows): T[] {
  const found: { one: T; rank: number }[] = [];
  for (const one of list) {
    const at = rank(one);
    if (at !== undefined) found.push({ one, rank: at });
  }
  return found
    .sort((a, b) => a.rank - b.rank)
    .slice(0, limit)
    .map(({ one }) => one);
}

/**
 * Returns everyone who can be mentioned: the members of the server once they are loaded, otherwise the authors of loaded messages; in a DM its two
 * participants.
 */
function mentionableUsers({ serverId, recipientId, channelId }: ChannelContext): User[] {
  if (serverId === null) {
    const own = me.value && { ...me.value, tag: me.value.tag ?? undefined };
    return [userOf(recipientId ?? ''), own].filter((user) => user !== undefined && user !== null);
  }
  const members = membersOf(serverId);
  if (members) return [...members.values()].map(({ user }) => user);
  const authors = new Map(historyOf(channelId).messages.value.map(({ author }) => [author.id, author]));
  return [...authors.values()];
}

/** Suggests people whose names match, the most recent authors first. */
export function peopleFor(context: ChannelContext, wanted: string): Suggestion[] {
  const users = mentionableUsers(context);
  const recent = new Map(
    historyOf(context.channelId)
      .messages.value.slice(-50)
      .map(({ author }, at) => [author.id, at]),
  );
  const word = foldSearch(wanted);
  const best = bestOf(users, (user) => {
    const { name, username } = foldedOf(user);
    const rank = rankOf([name, username], word);
    return rank === undefined ? undefined : rank - (recent.get(user.id) ?? -1) / 100;
  });
  return best.map((user) => {
    const hasNamesake = users.filter((other) => foldedOf(other).name === foldedOf(user).name).length > 1;
    return {
      id: user.id,
      picture: <Avatar id={user.id} name={user.displayName} url={user.avatarUrl} size={24} />,
      label: user.displayName,
      detail: user.username,
      choice: {
        kind: 'token',
        sign: '@',
        names: hasNamesake ? [user.username] : [user.displayName, user.username],
        meaning: { content: `<@${user.id}>`, option: `<@${user.id}>` },
      },
    };
  });
}

/** Suggests roles whose names match, highest first; none in a DM. */
export function rolesFor({ serverId }: ChannelContext, wanted: string): Suggestion[] {
  const roles = (servers.value.get(serverId ?? '')?.roles ?? []).filter(({ id }) => id !== serverId);
  return bestOf(roles, ({ name }) => rankOf([foldSearch(name)], foldSearch(wanted))).map(({ id, name, color }) => ({
    id,
    picture: (
      <span class="completion-role" style={color ? { color } : {}}>
        <Icon of={Shield} />
      </span>
    ),
    label: name,
    detail: 'Role',
    choice: { kind: 'token', sign: '@', names: [name], meaning: { content: `<@&${id}>`, option: `<@&${id}>` } },
  }));
}

/** Suggests `@everyone` and `@here`, if the user has the permission to mention everyone. */
function everyoneFor({ serverId, channel }: ChannelContext, wanted: string): Suggestion[] {
  if (!may('Mention Everyone', serverId, channel)) return [];
  return ['everyone', 'here']
    .filter((word) => word.startsWith(wanted.toLowerCase()))
    .map((word) => ({
      id: word,
      picture: <Icon of={AtSign} />,
      label: `@${word}`,
      detail: 'Everyone who can see this channel',
      choice: { kind: 'text', text: `@${word}` },
    }));
}

/** Suggests everything that `@` can mention: people, roles, and everyone if that is permitted. */
export const mentionsFor = (context: ChannelContext, wanted: string): Suggestion[] =>
  [...peopleFor(context, wanted), ...rolesFor(context, wanted), ...everyoneFor(context, wanted)].slice(0, maxRows + 2);

const channelIcons: Partial<Record<Channel['kind'], typeof Hash>> = { announcement: Megaphone, thread: MessagesSquare };

/** Suggests channels and threads whose names match; none in a DM. In a message the value is a mention of the channel, for an option it is the id. */
export function channelsFor({ serverId }: ChannelContext, wanted: string, all = false): Suggestion[] {
  const server = servers.value.get(serverId ?? '');
  const known = (server?.channels ?? []).filter((channel) => all || holdsMessages(channel));
  return bestOf(known, ({ name }) => rankOf([foldSearch(name ?? '')], foldSearch(wanted))).map(({ id, name, kind, parentId }) => ({
    id,
    picture: <Icon of={channelIcons[kind] ?? Hash} />,
    label: name ?? '',
    detail: known.find((other) => other.id === parentId)?.name ?? '',
    choice: {
      kind: 'token',
      sign: '#',
      // When two channels have the same name, the end of the id is appended, because nothing else distinguishes them.
      names: [name ?? '', `${name}-${id.slice(-4)}`],
      meaning: { content: `<#${id}>`, option: id },
    },
  }));
}

/** Suggests emoji whose shortcode or name matches. */
export function emojisFor(emojis: readonly Emoji[], wanted: string): Suggestion[] {
  return findEmojis(emojis, wanted, maxRows).map(({ emoji, skins, label, shortcodes }) => {
    const text = skins[skinTone.value - 1] ?? emoji;
    return {
      id: emoji,
      picture: <span class="completion-emoji">{text}</span>,
      label: shortcodes[0] ? `:${shortcodes[0]}:` : label,
      detail: shortcodes[0] ? label : '',
      choice: { kind: 'text', text },
    };
  });
}

/** How a command is typed: `/name`, or its prefix and name. */
export const commandText = ({ kind, prefix = '', name }: PickerCommand): string => (kind === 'slash' ? `/${name}` : prefix + name);

/** Suggests the commands that match, grouped by application; the application of the best match is first. */
export function commandsFor(commands: readonly PickerCommand[], wanted: string): Suggestion[] {
  const word = foldSearch(wanted);
  const matching = commands.filter(({ name }) => foldSearch(name).includes(word)).slice(0, maxCommands);
  const order = [...new Set(matching.map(({ application }) => application.id))];
  return order.flatMap((id) =>
    matching
      .filter(({ application }) => application.id === id)
      .map((command) => ({
        id: command.id,
        picture: <Avatar id={id} name={command.application.name} url={command.application.iconUrl} size={24} square />,
        label: commandText(command),
        detail: command.description,
        group: command.application.name,
        choice: { kind: 'command', command },
      })),
  );
}
