import { expect } from 'chai';
import { unknownId } from '../../harness/factories.ts';
import { type Caller, refused } from '../../harness/requests.ts';
import { newBot, useServer } from '../../harness/use.ts';

/** A body with several faults that its schema does not find: who sends it where, and the faults. */
interface Row {
  as?: Caller;
  request: readonly [method: string, path: string];
  body: unknown;
  errors: readonly { path: string; message: string }[];
}

describe('a refused body: every fault is listed', () => {
  const { api, owner, server, bot } = useServer({ bot: newBot() });

  const embedTooLong = { title: 'x'.repeat(256), fields: Array(6).fill({ name: 'n', value: 'v'.repeat(1024) }) };
  const notMessage = { path: '/replyTo', message: 'This message is not in this channel.' };
  const rows: Record<string, () => Row> = {
    'of embeds and a reply': () => ({
      as: bot,
      request: ['POST', `/api/channels/${server.general}/messages`],
      body: { embeds: [{}, { title: 'ok' }, embedTooLong, { timestamp: '2016-12-31T23:59:60.000Z' }], replyTo: unknownId },
      errors: [
        { path: '/embeds/0', message: 'This embed shows nothing. Add a text, an image or a timestamp.' },
        { path: '/embeds/2', message: 'Use at most 6000 characters in an embed.' },
        { path: '/embeds/3/timestamp', message: 'Use a date and time such as 2026-01-31T12:00:00.000Z.' },
        notMessage,
      ],
    }),
    'of a person’s message': () => ({
      request: ['POST', `/api/channels/${server.general}/messages`],
      body: { content: ' ', embeds: [{ title: 'x' }], replyTo: unknownId },
      errors: [{ path: '/embeds', message: 'Only bots can send embeds.' }, notMessage],
    }),
    'of an empty reply': () => ({
      request: ['POST', `/api/channels/${server.general}/messages`],
      body: { content: ' ', replyTo: unknownId },
      errors: [{ path: '/content', message: 'A message needs content, embeds or files.' }, notMessage],
    }),
    'of a new channel': () => ({
      request: ['POST', `/api/servers/${server.id}/channels`],
      body: {
        name: 'x',
        kind: 'text',
        parentId: server.general,
        overwrites: [
          { id: server.id, allow: 1, deny: 1 },
          { id: server.id, allow: 0, deny: 2 },
        ],
      },
      errors: [
        { path: '/parentId', message: 'Choose a category of this server that you can view.' },
        { path: '/overwrites/0/deny', message: 'A permission cannot be both allowed and denied.' },
        { path: '/overwrites/1/id', message: 'A role or member can have only one overwrite.' },
      ],
    }),
    'of a changed channel': () => ({
      request: ['PATCH', `/api/channels/${server.general}`],
      body: { archived: true, parentId: server.general },
      errors: [
        { path: '/archived', message: 'This does not apply to channels of the kind text.' },
        { path: '/parentId', message: 'Choose a category of this server that you can view.' },
      ],
    }),
    'of the role @everyone': () => ({
      request: ['PATCH', `/api/servers/${server.id}/roles/${server.id}`],
      body: { name: 'x', hoist: true, position: 1 },
      errors: ['/name', '/hoist', '/position'].map((path) => ({ path, message: 'This cannot be changed for @everyone.' })),
    }),
    'of an invite': () => ({
      request: ['POST', `/api/servers/${server.id}/invites`],
      body: { maxAgeSecs: -1, maxUses: 101 },
      errors: [
        { path: '/maxAgeSecs', message: 'Use a number from 0 to 604800.' },
        { path: '/maxUses', message: 'Use a number from 0 to 100.' },
      ],
    }),
    'of Community settings': () => ({
      request: ['PUT', `/api/servers/${server.id}/community`],
      body: { enabled: true, rulesChannelId: unknownId },
      errors: [
        { path: '/rulesChannelId', message: 'Choose a text channel of this server that you can view.' },
        { path: '/updatesChannelId', message: 'Choose a channel to turn Community on.' },
      ],
    }),
    'of tags': () => ({
      request: ['PUT', `/api/servers/${server.id}/discovery`],
      body: { tags: [' ', 'a', 'b', 'c', 'd', 'e', 'x'.repeat(25)] },
      errors: [
        { path: '/tags/0', message: 'Use 1 to 24 characters.' },
        { path: '/tags/6', message: 'Use 1 to 24 characters.' },
        { path: '/tags', message: 'Use at most 5 tags.' },
      ],
    }),
    'of a listing': () => ({
      request: ['PUT', `/api/servers/${server.id}/discovery`],
      body: { listed: true, description: ' ' },
      errors: [
        { path: '/listed', message: 'Only a Community server can be listed. Turn Community on first.' },
        { path: '/description', message: 'A listed server needs a description.' },
      ],
    }),
    'of commands': () => ({
      as: bot,
      request: ['PUT', `/api/applications/${bot.applicationId}/commands`],
      body: [
        { name: 'A', prefix: '!' },
        { name: 'p', kind: 'prefix', options: [] },
      ],
      errors: [
        { path: '/0/name', message: 'Use only lowercase letters, digits, - and _.' },
        { path: '/0/description', message: 'This field is required.' },
        { path: '/0/prefix', message: 'Only prefix commands have a prefix.' },
        { path: '/1/prefix', message: 'A prefix command needs a prefix.' },
        { path: '/1/options', message: 'Only slash commands have options.' },
      ],
    }),
    'of commands, those of the schema and those of other rules together': () => ({
      as: bot,
      request: ['PUT', `/api/applications/${bot.applicationId}/commands`],
      body: [
        { name: 'Bad', description: 'x'.repeat(101), options: [{ name: 'o', description: ' ', type: 'colour' }, 7] },
        'no command',
        { name: 'same', description: 'd', options: {} },
        { name: 'same', description: 'd' },
      ],
      errors: [
        { path: '/0/description', message: 'Use at most 100 characters.' },
        { path: '/0/options/0/type', message: 'Use one of: string, integer, number, boolean, user, role, channel.' },
        { path: '/0/options/1', message: 'This must be an object.' },
        { path: '/1', message: 'This must be an object.' },
        { path: '/2/options', message: 'This must be a list.' },
        { path: '/0/name', message: 'Use only lowercase letters, digits, - and _.' },
        { path: '/0/options/0/description', message: 'Enter a description.' },
        { path: '/3/name', message: 'Another slash command has this name.' },
      ],
    }),
  };

  for (const [what, toRow] of Object.entries(rows))
    it(what, async () => {
      const { as = owner, request, body, errors: expected } = toRow();
      const { errors, message } = await refused(api, [400, 'invalid_request'], as, ...request, body);
      expect(errors).to.deep.equal(expected);
      for (const { path } of expected) expect(message).to.include(path.slice(1).replaceAll('/', '.'));
    });

  it('at most 20 are listed', async () => {
    const body = Array.from({ length: 30 }, () => ({ name: 'same', kind: 'prefix' }));
    const { errors } = await refused(api, [400, 'invalid_request'], bot, 'PUT', `/api/applications/${bot.applicationId}/commands`, body);
    expect(errors).to.have.length(20);
  });
});
