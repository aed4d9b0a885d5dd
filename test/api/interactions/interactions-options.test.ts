import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { makeChannel, makeMember, makePerson, makeRole, makeServer, makeThread, openDm, setOverwrite } from '../../harness/factories.ts';
import { send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';
import { option, useCommands } from './command-fixture.ts';

const types = ['string', 'integer', 'number', 'boolean', 'user', 'role', 'channel'] as const;
type Type = (typeof types)[number];

describe('values of command options', () => {
  const { fixture, owner, member, bot, invoke, refuses } = useCommands([
    { name: 'all', description: 'x', options: types.map((type) => option(type, type)) },
    ...types.map((type) => ({ name: `one-${type}`, description: 'x', options: [option(type, type)] })),
  ]);
  /** Ids by the names that the tests use in texts as `{name}`. */
  const ids: Record<string, string> = make(async () => {
    const { api, channelId, seeded } = fixture;
    const { serverId } = seeded;
    const left = await makeMember(api, owner, serverId);
    await send(api, 204, left, 'DELETE', `/api/users/@me/servers/${serverId}`);
    const goneRole = await makeRole(api, owner, serverId);
    await send(api, 204, owner, 'DELETE', `/api/servers/${serverId}/roles/${goneRole.id}`);
    const goneChannel = await makeChannel(api, owner, serverId);
    await send(api, 204, owner, 'DELETE', `/api/channels/${goneChannel.id}`);
    const foreign = await makeServer(api, member);
    const archived = await makeThread(api, owner, channelId);
    await send(api, 200, owner, 'PATCH', `/api/channels/${archived.id}`, { archived: true });
    const hidden = await makeChannel(api, owner, serverId);
    const hiddenThread = await makeThread(api, owner, hidden.id);
    await setOverwrite(api, owner, hidden.id, member.id, 0, permissionBits['View Channel']);
    return {
      serverId,
      member: member.id,
      owner: owner.id,
      bot: bot.id,
      left: left.id,
      outsider: (await makePerson(api)).id,
      role: (await makeRole(api, owner, serverId)).id,
      goneRole: goneRole.id,
      foreignRole: (await makeRole(api, member, foreign.id)).id,
      foreignEveryone: foreign.id,
      text: channelId,
      category: (await makeChannel(api, owner, serverId, { kind: 'category' })).id,
      voice: (await makeChannel(api, owner, serverId, { kind: 'voice' })).id,
      thread: (await makeThread(api, owner, channelId)).id,
      archived: archived.id,
      hidden: hidden.id,
      hiddenThread: hiddenThread.id,
      goneChannel: goneChannel.id,
      foreignChannel: foreign.general,
      dm: (await openDm(api, member, bot)).id,
    };
  });

  /** Replaces every `{name}` in `text` by the id. */
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
  const textBody = (text: string): string => JSON.stringify({ text });
  /** A body with one option, whose value is written as JSON. */
  const listBody = (type: string, json: string): string => `{ "options": [{ "name": "${type}", "value": ${json} }] }`;
  /** The commands and bodies that give `text` to an option with and without its name, and `json` in a list. */
  const usesOf = (type: Type, text: string, json?: string): (readonly [command: string, body: string])[] => [
    ['all', textBody(`${type}: ${fill(text)}`)],
    [`one-${type}`, textBody(fill(text))],
    ...(json === undefined ? [] : [['all', listBody(type, fill(json))] as const]),
  ];

  // What each type accepts is in test/unit/option-parsing.test.ts. These rows need the server, or could change on the way to the database.
  const good: [type: Type, text: string, value: unknown, json?: string][] = [
    ['string', 'a', 'a', '"a"'],
    ['string', 'two\nlines\r\n three', 'two\nlines\r\n three'],
    ['string', 'x\0y', 'x\0y'],
    ['string', '😀'.repeat(2000), '😀'.repeat(2000)],
    ...['$answer', '$$NOW', '$$ROOT', '$literal', '{"$gt":""}'].map((text): [Type, string, unknown] => ['string', text, text]),
    ['integer', '-0', 0, '-0'],
    ['integer', '0042', 42, '4.2e1'],
    ['integer', '-9007199254740991', -9007199254740991, '-9007199254740991'],
    ['number', '-0.0', 0, '-0.0'],
    ['number', '1e308', 1e308, '1e308'],
    ['boolean', 'yEs', true, '"yes"'],
    ['boolean', 'False', false, 'false'],
    ['user', '<@{member}>', '{member}', '"{member}"'],
    ['user', '<@{owner}>', '{owner}', '"<@{owner}>"'],
    ['user', '<@{bot}>', '{bot}', '"{bot}"'],
    ['role', '<@&{role}>', '{role}', '"{role}"'],
    ['role', '<@&{serverId}>', '{serverId}', '"<@&{serverId}>"'],
    ...['{text}', '{category}', '{voice}', '{thread}', '{archived}'].map((at): [Type, string, string, string] => [
      'channel',
      at,
      at,
      `"${at}"`,
    ]),
  ];
  for (const [type, text, value, json] of good)
    it(`${type}: ${JSON.stringify(text).slice(0, 40)} has the same value with its name, without it and in a list`, async () => {
      const options = [{ name: type, type, value: typeof value === 'string' ? fill(value) : value }];
      for (const [command, body] of [...usesOf(type, text, json), [`one-${type}`, textBody(`${type}:${fill(text)}`)] as const]) {
        const stored = (await fixture.stored((await invoke(command, body)).id)).options;
        expect(stored).to.deep.equal(options);
        expect(Object.is(stored[0]?.value, -0)).to.equal(false);
      }
    });

  const bad: [type: Type, text: string, json: string][] = [
    ['string', '😀'.repeat(2001), '""'],
    ['integer', '9'.repeat(20_000), '1e309'],
    ['number', '0x10', '1e309'],
    ['boolean', 'y', '"true "'],
    ['user', '<@{left}>', '"{left}"'],
    ['user', '<@{outsider}>', '"{outsider}"'],
    ['user', '{member}', '"$ne"'],
    ['role', '<@&{foreignRole}>', '"{foreignRole}"'],
    ['role', '<@&{foreignEveryone}>', '"{foreignEveryone}"'],
    ['role', '<@&{goneRole}>', '"{goneRole}"'],
    ['role', '<@&{member}>', '"{member}"'],
    ...['hidden', 'hiddenThread', 'foreignChannel', 'goneChannel', 'dm', 'serverId']
      .map((name) => `{${name}}`)
      .map((id): [Type, string, string] => ['channel', id, `"${id}"`]),
  ];
  for (const [type, text, json] of bad)
    it(`${type}: 400 invalid_options for ${JSON.stringify(text).slice(0, 40)}`, async () => {
      for (const [command, body] of usesOf(type, text, json)) {
        const { errors } = await refuses([400, 'invalid_options'], command, body);
        expect(errors?.map(({ path }) => path)).to.deep.equal([type]);
      }
    });

  it('the permissions of the person decide, not those of the bot: 202 for a channel and a thread that only the owner can view', async () => {
    for (const name of ['hidden', 'hiddenThread']) await invoke('all', textBody(fill(`channel: {${name}}`)), owner);
  });

  it('an option given 5,000 times has one error', async () => {
    const { errors } = await refuses([400, 'invalid_options'], 'all', textBody('string: x '.repeat(5_000)));
    expect(errors?.map(({ path }) => path)).to.deep.equal(['string']);
  });
});
