import { AtSign, Hash, Megaphone, MessagesSquare, Shield } from 'lucide';
import type { ComponentChildren } from 'preact';
import { folded } from '../../../../lib/base/text.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { historyOf } from '../../state/histories.ts';
import { type Face, faceOf, membersOf } from '../../state/people.ts';
import { may } from '../../state/rights.ts';
import { details } from '../../state/servers.ts';
import { me } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Icon } from '../../ui/icon.tsx';
import { holdsMessages, type Place, pathOf } from '../place.ts';
import type { Meaning } from './composer-tokens.ts';
import { skinTone } from './emoji-habits.ts';
import { type Emoji, findEmojis } from './emojis.ts';

/** What taking a suggestion does: puts in a text, a readable word with its meaning, or begins a command. */
export type Choice =
  | { kind: 'text'; text: string }
  | { kind: 'token'; sign: '@' | '#'; names: readonly string[]; meaning: Meaning }
  | { kind: 'command'; command: PickerCommand };

/** One row of the completion's list. */
export interface Suggestion {
  /** Of whom or what it is; unlike any other of the list. */
  id: string;
  picture: ComponentChildren;
  label: string;
  detail: string;
  /** The heading that it stands under. */
  group?: string;
  choice: Choice;
}

/** Rows that a list shows at most, and commands, which are grouped and scroll. */
const mostRows = 10;
const mostCommands = 60;

const foldedFaces = new WeakMap<Face, { name: string; username: string }>();

/** A face's names as searches compare them; kept, as a server may have 10,000 members. */
function foldedOf(face: Face): { name: string; username: string } {
  const known = foldedFaces.get(face) ?? { name: folded(face.displayName), username: face.username };
  foldedFaces.set(face, known);
  return known;
}

/** How well names fit what is looked for: 0 best; undefined when not at all. A name with a space in it must begin so. */
function fitOf(names: readonly string[], wanted: string): number | undefined {
  if (names.some((name) => name.startsWith(wanted))) return 0;
  if (wanted.includes(' ')) return undefined;
  if (names.some((name) => name.includes(` ${wanted}`))) return 1;
  return names.some((name) => name.includes(wanted)) ? 2 : undefined;
}

/** The best of a list, the best first. */
function bestOf<T>(list: Iterable<T>, fit: (one: T) => number | undefined, most = mostRows): T[] {
  const found: { one: T; fit: number }[] = [];
  for (const one of list) {
    const at = fit(one);
    if (at !== undefined) found.push({ one, fit: at });
  }
  return found
    .sort((a, b) => a.fit - b.fit)
    .slice(0, most)
    .map(({ one }) => one);
}

/** Everyone who can be named in a place: the server's members once they are read, else who is known by their messages; the two of a DM. */
function facesIn({ serverId, recipientId, channelId }: Place): Face[] {
  if (serverId === null) {
    const own = me.value && { ...me.value, tag: me.value.tag ?? undefined };
    return [faceOf(recipientId ?? ''), own].filter((face) => face !== undefined && face !== null);
  }
  const members = membersOf(serverId);
  if (members) return [...members.values()].map(({ user }) => user);
  const authors = new Map(historyOf(channelId).messages.value.map(({ author }) => [author.id, author]));
  return [...authors.values()];
}

/** People of a place whose names fit, those who wrote last first. */
export function peopleFor(place: Place, wanted: string): Suggestion[] {
  const faces = facesIn(place);
  const recent = new Map(
    historyOf(place.channelId)
      .messages.value.slice(-50)
      .map(({ author }, at) => [author.id, at]),
  );
  const word = folded(wanted);
  const best = bestOf(faces, (face) => {
    const { name, username } = foldedOf(face);
    const fit = fitOf([name, username], word);
    return fit === undefined ? undefined : fit - (recent.get(face.id) ?? -1) / 100;
  });
  return best.map((face) => {
    const alike = faces.filter((other) => foldedOf(other).name === foldedOf(face).name).length > 1;
    return {
      id: face.id,
      picture: <Avatar id={face.id} name={face.displayName} url={face.avatarUrl} size={24} />,
      label: face.displayName,
      detail: face.username,
      choice: {
        kind: 'token',
        sign: '@',
        names: alike ? [face.username] : [face.displayName, face.username],
        meaning: { content: `<@${face.id}>`, option: `<@${face.id}>` },
      },
    };
  });
}

/** Roles of a place whose names fit, the highest first; none in a DM. */
export function rolesFor({ serverId }: Place, wanted: string): Suggestion[] {
  const roles = (details.value.get(serverId ?? '')?.roles ?? []).filter(({ id }) => id !== serverId);
  return bestOf(roles, ({ name }) => fitOf([folded(name)], folded(wanted))).map(({ id, name, color }) => ({
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

/** `@everyone` and `@here`, for who may ping everyone. */
function everyoneFor({ serverId, channel }: Place, wanted: string): Suggestion[] {
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

/** Whom `@` can name in a place: people, roles, and everyone where that is permitted. */
export const mentionsFor = (place: Place, wanted: string): Suggestion[] =>
  [...peopleFor(place, wanted), ...rolesFor(place, wanted), ...everyoneFor(place, wanted)].slice(0, mostRows + 2);

const channelIcons: Partial<Record<Channel['kind'], typeof Hash>> = { announcement: Megaphone, thread: MessagesSquare };

/** Channels and threads of a place whose names fit: in a message a link to its page, for an option its id. None in a DM. */
export function channelsFor({ serverId }: Place, wanted: string, all = false): Suggestion[] {
  const server = details.value.get(serverId ?? '');
  const known = (server?.channels ?? []).filter((channel) => all || holdsMessages(channel));
  return bestOf(known, ({ name }) => fitOf([folded(name ?? '')], folded(wanted))).map(({ id, name, kind, parentId }) => ({
    id,
    picture: <Icon of={channelIcons[kind] ?? Hash} />,
    label: name ?? '',
    detail: known.find((other) => other.id === parentId)?.name ?? '',
    choice: {
      kind: 'token',
      sign: '#',
      // Of two channels of one name each has its id behind it, as nothing else tells them apart.
      names: [name ?? '', `${name}-${id.slice(-4)}`],
      meaning: { content: `<${location.origin}${pathOf(id)}>`, option: id },
    },
  }));
}

/** Emoji whose shortcode or name fits. */
export function emojisFor(emojis: readonly Emoji[], wanted: string): Suggestion[] {
  return findEmojis(emojis, wanted, mostRows).map(({ emoji, skins, label, shortcodes }) => {
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

/** How a command is written: `/name`, or a prefix and the name. */
export const writtenAs = ({ kind, prefix = '', name }: PickerCommand): string => (kind === 'slash' ? `/${name}` : prefix + name);

/** The commands that fit, grouped by application: that of the best first. */
export function commandsFor(commands: readonly PickerCommand[], wanted: string): Suggestion[] {
  const word = wanted.toLowerCase();
  const fit = commands.filter(({ name }) => name.toLowerCase().includes(word)).slice(0, mostCommands);
  const order = [...new Set(fit.map(({ application }) => application.id))];
  return order.flatMap((id) =>
    fit
      .filter(({ application }) => application.id === id)
      .map((command) => ({
        id: command.id,
        picture: <Avatar id={id} name={command.application.name} url={command.application.iconUrl} size={24} square />,
        label: writtenAs(command),
        detail: command.description,
        group: command.application.name,
        choice: { kind: 'command', command },
      })),
  );
}
