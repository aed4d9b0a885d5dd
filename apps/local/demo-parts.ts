import { type Permission, permissionBits } from '../../lib/base/permissions.ts';
import { pullRequest, push, texts } from './demo-texts.ts';

/**
 * One part of the demo server, made with one API call. `{name}` in its path or body is replaced with the value of another part, or of `person`, `guest`,
 * `bot`, `server`, `general` or `application`.
 */
export interface Part {
  name: string;
  by: 'person' | 'guest' | 'bot' | 'anonymous';
  /** Method and path, such as `POST /api/servers/{server}/channels`. */
  call: string;
  body?: object;
  headers?: Readonly<Record<string, string>>;
  /** If this is deleted and made again, the part is made again too; default: the server. */
  partOf?: 'server' | 'application' | 'people';
  /** The value that other parts use for this one; default: the id in the response. */
  toValue?: (response: { id: string; token: string; code: string }) => string;
}

const bits = (...names: Permission[]): number => names.reduce((sum, name) => sum | permissionBits[name], 0);
const server = '/api/servers/{server}';

const category = (name: string, title: string): Part => ({
  name,
  by: 'person',
  call: `POST ${server}/channels`,
  body: { name: title, kind: 'category' },
});

/** A channel in a category, and its topic. The part has the same name as the channel. */
const channel = (name: string, kind: 'text' | 'announcement', parent: string, topic: string): Part[] => [
  { name, by: 'person', call: `POST ${server}/channels`, body: { name, kind, parentId: `{${parent}}` } },
  { name: `${name}-topic`, by: 'person', call: `PATCH /api/channels/{${name}}`, body: { topic } },
];

/** Only the owner and administrators can write in the channel. */
const closed = (name: string): Part => ({
  name: `${name}-closed`,
  by: 'person',
  call: `PUT /api/channels/{${name}}/overwrites/{server}`,
  body: { allow: 0, deny: bits('Send Messages') },
});

/** Only the owner and administrators can see the channel. */
const hidden = (name: string): Part => ({
  name: `${name}-hidden`,
  by: 'person',
  call: `PUT /api/channels/{${name}}/overwrites/{server}`,
  body: { allow: 0, deny: bits('View Channel') },
});

const message = (name: string, by: Part['by'], where: string, body: string | object): Part => ({
  name,
  by,
  call: `POST /api/channels/{${where}}/messages`,
  body: typeof body === 'string' ? { content: body } : body,
});

const reaction = (name: string, by: Part['by'], to: string, emoji: string): Part => ({
  name,
  by,
  call: `PUT /api/channels/{general}/messages/{${to}}/reactions/${encodeURIComponent(emoji)}`,
});

/** A webhook delivery from a code host. Its delivery id is fixed, so a repeated delivery posts nothing. */
const delivery = (event: string, payload: object): Part => ({
  name: event.replace('_', '-'),
  by: 'anonymous',
  call: 'POST /api/webhooks/{webhook}/codehost',
  body: payload,
  headers: { 'X-GitHub-Event': event, 'X-GitHub-Delivery': `demo-${event}` },
});

/** The parts of the demo server, in the order in which they are made. */
export const demoParts: readonly Part[] = [
  category('start-here', 'Start here'),
  ...channel('rules', 'text', 'start-here', 'The rules of this server'),
  ...channel('announcements', 'announcement', 'start-here', 'News, for other servers to follow'),
  category('talk', 'Talk'),
  {
    name: 'general-moved',
    by: 'person',
    call: 'PATCH /api/channels/{general}',
    body: { parentId: '{talk}', topic: 'Talk about anything' },
  },
  ...channel('formatting', 'text', 'talk', 'How to write bold, code and the rest'),
  category('work', 'Work'),
  ...channel('code', 'text', 'work', 'Activity of the repository'),
  ...channel('moderators', 'text', 'work', 'Notices for moderators'),
  hidden('moderators'),
  closed('rules'),
  closed('announcements'),

  { name: 'invite', by: 'person', call: `POST ${server}/invites`, body: {}, toValue: ({ code }) => code },
  { name: 'joined', by: 'guest', call: 'POST /api/invites/{invite}' },
  { name: 'bio', by: 'guest', call: 'PATCH /api/users/@me', body: { bio: 'Part of the demo.', pronouns: 'she/her' }, partOf: 'people' },
  {
    name: 'helpers',
    by: 'person',
    call: `POST ${server}/roles`,
    body: { name: 'Helpers', color: '#16a34a', hoist: true, permissions: bits('Manage Messages') },
  },
  { name: 'helper', by: 'person', call: `PUT ${server}/members/{guest}/roles/{helpers}` },

  message('rules-text', 'person', 'rules', texts.rules),
  message('news', 'person', 'announcements', texts.news),
  message('welcome', 'person', 'general', texts.welcome),
  { name: 'pin', by: 'person', call: 'PUT /api/channels/{general}/pins/{welcome}' },
  message('card', 'bot', 'general', { embeds: [texts.botCard] }),
  message('greeting', 'guest', 'general', texts.greeting),
  reaction('wave', 'bot', 'greeting', '👋'),
  reaction('wave-too', 'person', 'greeting', '👋'),
  reaction('heart', 'guest', 'welcome', '❤️'),
  message('answer', 'person', 'general', { content: texts.answer, replyTo: '{greeting}' }),
  { name: 'thread', by: 'guest', call: 'POST /api/channels/{general}/threads', body: { name: 'How threads work', messageId: '{welcome}' } },
  message('thread-text', 'guest', 'thread', texts.thread),
  message('thread-answer', 'person', 'thread', texts.inThread),
  message('formatting-text', 'person', 'formatting', texts.formatting),
  message('formatting-code', 'person', 'formatting', texts.codeBlock),

  {
    name: 'webhook',
    by: 'person',
    call: 'POST /api/channels/{code}/webhooks',
    body: { name: 'Garden repository' },
    toValue: ({ id, token }) => `${id}/${token}`,
  },
  delivery('push', push),
  delivery('pull_request', pullRequest),

  {
    name: 'community',
    by: 'person',
    call: `PUT ${server}/community`,
    body: { enabled: true, rulesChannelId: '{rules}', updatesChannelId: '{moderators}' },
  },
  {
    name: 'discovery',
    by: 'person',
    call: `PUT ${server}/discovery`,
    body: {
      listed: true,
      category: 'community_social',
      description: 'The server that comes with a new installation.',
      tags: ['demo', 'bots'],
    },
  },
  {
    name: 'directory',
    by: 'person',
    call: 'PATCH /api/applications/{application}',
    body: { public: true, inDirectory: true },
    partOf: 'application',
  },

  { name: 'dm', by: 'guest', call: 'POST /api/users/@me/channels', body: { recipientId: '{person}' }, partOf: 'people' },
  { ...message('dm-text', 'guest', 'dm', texts.direct), partOf: 'people' },
];
