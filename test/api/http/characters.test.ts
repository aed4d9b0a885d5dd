// Which characters names and texts may have, in every field of every body (docs/behavior/requests.md#text).
import { expect } from 'chai';
import { makeBot, makeChannel, makePerson, makeRole } from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { make, newApplication, useServer } from '../../harness/use.ts';

const invisible: readonly [what: string, text: string][] = [
  ['white space', ' \t\u00a0\u3000'],
  ['zero-width spaces', '\u200b\u200c\u200d\ufeff\u2060'],
  ['marks of direction', '\u200e\u200f\u202a\u202e\u202c\u2066\u2069'],
  ['Hangul fillers', '\u3164\u115f\u1160\uffa0'],
  ['an empty braille cell', '\u2800'],
  ['soft hyphens and variation selectors', '\u00ad\ufe0f\u{e0100}'],
  ['tags', '\u{e0041}\u{e0042}'],
  ['a note without a head', '\u{1d159}'],
  ['a Mongolian vowel separator', '\u180e'],
];
const control = ['\0', '\u0001', '\u0007', '\u000b', '\u000c', '\u001b', '\u007f', '\u0085', '\u009b'].map(
  (char) => [`U+${char.charCodeAt(0).toString(16).padStart(4, '0')}`, `a${char}b`] as const,
);
const lines = ['\n', '\r', '\u2028', '\u2029'].map((char) => [JSON.stringify(char), `a${char}b`] as const);
const good = ['a\tb', 'José 李 عمر', '👩‍👩‍👧', '\u200fاسم', '\u0301', 'a\u200bb'];

describe('characters of names and texts', () => {
  const { api, owner, server, bot } = useServer({ bot: newApplication() });
  const channel = make(() => makeChannel(api, owner, server.id));
  const role = make(() => makeRole(api, owner, server.id));
  const inServer = make(() => makeBot(api, owner, server.id, 1));
  const person = make(() => makePerson(api));
  const webhook = make(() => send<{ id: string }>(api, 201, owner, 'POST', `/api/channels/${channel.id}/webhooks`, { name: 'x' }));
  const commands = (change: object): object[] => [{ name: 'a', description: 'b', ...change }];
  const withOption = (description: string): object[] => commands({ options: [{ type: 'string', name: 'a', description }] });
  const applicationPath = (): string => `/api/applications/${bot.applicationId}`;
  const commandsPath = (): string => `${applicationPath()}/commands`;

  type Field = [name: string, path: string, method: string, at: () => string, body: (text: string) => unknown, as?: () => Caller];
  const names: Field[] = [
    ['a server', '/name', 'POST', () => '/api/servers', (name) => ({ name })],
    ['a changed server', '/name', 'PATCH', () => `/api/servers/${server.id}`, (name) => ({ name })],
    ['a channel', '/name', 'POST', () => `/api/servers/${server.id}/channels`, (name) => ({ name, kind: 'text' })],
    ['a changed channel', '/name', 'PATCH', () => `/api/channels/${channel.id}`, (name) => ({ name })],
    ['a thread', '/name', 'POST', () => `/api/channels/${channel.id}/threads`, (name) => ({ name })],
    ['a role', '/name', 'POST', () => `/api/servers/${server.id}/roles`, (name) => ({ name })],
    ['a changed role', '/name', 'PATCH', () => `/api/servers/${server.id}/roles/${role.id}`, (name) => ({ name })],
    ['a webhook', '/name', 'POST', () => `/api/channels/${channel.id}/webhooks`, (name) => ({ name })],
    ['a changed webhook', '/name', 'PATCH', () => `/api/webhooks/${webhook.id}`, (name) => ({ name })],
    ['an application', '/name', 'POST', () => '/api/applications', (name) => ({ name })],
    ['a changed application', '/name', 'PATCH', applicationPath, (name) => ({ name })],
    ['a display name', '/displayName', 'PATCH', () => '/api/users/@me', (displayName) => ({ displayName }), () => person],
    ['a prefix command', '/0/name', 'PUT', commandsPath, (name) => commands({ name, kind: 'prefix', prefix: '!' })],
    ['a prefix', '/0/prefix', 'PUT', commandsPath, (prefix) => commands({ prefix, kind: 'prefix' })],
  ];
  const texts: Field[] = [
    ['a topic', '/topic', 'PATCH', () => `/api/channels/${channel.id}`, (topic) => ({ topic })],
    ['a bio', '/bio', 'PATCH', () => '/api/users/@me', (bio) => ({ bio }), () => person],
    ['pronouns', '/pronouns', 'PATCH', () => '/api/users/@me', (pronouns) => ({ pronouns }), () => person],
    ['a custom status', '/customStatus', 'PATCH', () => '/api/users/@me/presence', (customStatus) => ({ customStatus }), () => person],
    ['an application’s description', '/description', 'PATCH', applicationPath, (description) => ({ description })],
    ['the reason of a ban', '/reason', 'PUT', () => `/api/servers/${server.id}/bans/${inServer.id}`, (reason) => ({ reason })],
    ['a description in Discovery', '/description', 'PUT', () => `/api/servers/${server.id}/discovery`, (description) => ({ description })],
    ['a tag in Discovery', '/tags/0', 'PUT', () => `/api/servers/${server.id}/discovery`, (tag) => ({ tags: [tag] })],
    ['the description of a command', '/0/description', 'PUT', commandsPath, (description) => commands({ description })],
    ['the description of an option', '/0/options/0/description', 'PUT', commandsPath, withOption],
  ];
  const check = async ([, path, method, at, body, as = () => owner]: Field, what: string, text: string): Promise<void> => {
    const { errors } = await refused(api, [400, 'invalid_request'], as(), method, at(), body(text));
    const paths = errors?.map((error) => error.path);
    expect(paths, what).to.deep.equal([path]);
  };

  for (const field of names)
    it(`400 for the name of ${field[0]} that shows nothing, has control characters or several lines`, async () => {
      for (const [what, text] of [...invisible, ...control, ...lines]) await check(field, what, text);
    });
  for (const field of texts)
    it(`400 for ${field[0]} with control characters`, async () => {
      for (const [what, text] of control) await check(field, what, text);
    });
  it('other characters are kept', async () => {
    for (const name of good) expect(await send(api, 200, owner, 'PATCH', `/api/channels/${channel.id}`, { name })).to.include({ name });
    for (const topic of [...good, 'a\n\r\tb'])
      expect(await send(api, 200, owner, 'PATCH', `/api/channels/${channel.id}`, { topic })).to.include({ topic });
  });
});
