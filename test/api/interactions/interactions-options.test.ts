import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { CommandOption } from '../../../lib/contract/command.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import { type Caller, makeChannel, makeMember, makePerson, makeRole, makeServer, send, setOverwrite } from '../../harness/factories.ts';
import { type Scene, startScene } from '../../harness/scene.ts';

const types = ['string', 'integer', 'number', 'boolean', 'user', 'role', 'channel'] as const;

describe('using commands: what the options of each type take', () => {
  let scene: Scene;
  let owner: Caller;
  let member: Caller;
  /** Ids by what they name. */
  const ids: Record<string, string> = {};
  before(async () => {
    scene = await startScene();
    const { api, world } = scene;
    const { serverId } = world;
    owner = { id: world.ownerId, username: 'owner', token: world.ownerToken, as: scene.asPerson };
    member = await makeMember(api, owner, serverId);
    const option = (type: CommandOption['type']): CommandOption => ({ name: type, description: 'x', type, required: false });
    await scene.register([
      { name: 'all', description: 'x', options: types.map(option) },
      ...types.map((type) => ({ name: `one-${type}`, description: 'x', options: [option(type)] })),
    ]);
    const channel = async (input = {}) => (await makeChannel(api, owner, serverId, input)).id;
    const thread = async (parent: string) =>
      (await send<Channel>(api, 201, owner, 'POST', `/api/channels/${parent}/threads`, { name: 'thread' })).id;
    const gone = await makeMember(api, owner, serverId);
    await send(api, 204, gone, 'DELETE', `/api/users/@me/servers/${serverId}`);
    const elsewhere = await makeServer(api, member);
    const deleted = [await makeRole(api, owner, serverId), await makeChannel(api, owner, serverId)] as const;
    await send(api, 204, owner, 'DELETE', `/api/servers/${serverId}/roles/${deleted[0].id}`);
    await send(api, 204, owner, 'DELETE', `/api/channels/${deleted[1].id}`);
    Object.assign(ids, {
      serverId,
      member: member.id,
      owner: owner.id,
      bot: scene.bot.id,
      left: gone.id,
      stranger: (await makePerson(api)).id,
      role: (await makeRole(api, owner, serverId)).id,
      goneRole: deleted[0].id,
      foreignRole: (await makeRole(api, member, elsewhere.id)).id,
      foreignEveryone: elsewhere.id,
      text: scene.channelId,
      category: await channel({ kind: 'category' }),
      voice: await channel({ kind: 'voice' }),
      hidden: await channel(),
      goneChannel: deleted[1].id,
      foreignChannel: elsewhere.general,
      dm: (await send<DmChannel>(api, 201, member, 'POST', '/api/users/@me/channels', { recipientId: scene.bot.id })).id,
    });
    ids.thread = await thread(scene.channelId);
    ids.archived = await thread(scene.channelId);
    await send(api, 200, owner, 'PATCH', `/api/channels/${ids.archived}`, { archived: true });
    ids.hiddenThread = await thread(String(ids.hidden));
    await setOverwrite(api, owner, String(ids.hidden), member.id, 0, 1);
  });
  after(() => scene.close());

  /** The ids' names in `text`, written `{name}`, replaced by the ids. */
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
  const invoke = (command: string, body: string, as = member) =>
    scene.api.call<{ id: string; code: string; errors: { path: string }[] }>(
      'POST',
      `/api/channels/${scene.channelId}/commands/${scene.commands[command]}/invoke`,
      { as: as.as, body },
    );
  const typed = (text: string): string => JSON.stringify({ text });
  /** One option as JSON writes it. */
  const sent = (type: string, json: string): string => `{ "options": [{ "name": "${type}", "value": ${json} }] }`;
  const stored = async (id: string) => (await scene.stored(id)).options;

  type Type = (typeof types)[number];
  const good: [type: Type, text: string, value: unknown, json?: string][] = [
    ['string', 'a', 'a', '"a"'],
    ['string', '"quoted"  \'words\'', '"quoted"  \'words\''],
    ['string', 'two\nlines\r\n three', 'two\nlines\r\n three'],
    ['string', 'a:b http://c.test/?user:1 12:30', 'a:b http://c.test/?user:1 12:30'],
    ['string', 'x\0y', 'x\0y'],
    ['string', 'half \ud83d x', 'half \ufffd x'],
    ['string', '😀'.repeat(2000), '😀'.repeat(2000)],
    ['integer', '-0', 0, '-0'],
    ['integer', '+7', 7, '7.0'],
    ['integer', '0042', 42, '4.2e1'],
    ['integer', '9007199254740991', 9007199254740991, '9007199254740991'],
    ['integer', '-9007199254740991', -9007199254740991, '-9007199254740991'],
    ['number', '-0.0', 0, '-0.0'],
    ['number', '1e3', 1000, '1e3'],
    ['number', '.5', 0.5, '0.5'],
    ['number', '1e308', 1e308, '1e308'],
    ['boolean', 'TRUE', true, 'true'],
    ['boolean', 'yEs', true, '"yes"'],
    ['boolean', 'On', true, '"on"'],
    ['boolean', 'False', false, 'false'],
    ['boolean', 'NO', false, '"no"'],
    ['boolean', 'off', false, '"OFF"'],
    ['user', '<@{member}>', '{member}', '"{member}"'],
    ['user', '<@{owner}>', '{owner}', '"<@{owner}>"'],
    ['user', '<@{bot}>', '{bot}', '"{bot}"'],
    ['role', '<@&{role}>', '{role}', '"{role}"'],
    ['role', '<@&{serverId}>', '{serverId}', '"<@&{serverId}>"'],
    ...['text', 'category', 'voice', 'thread', 'archived'].map((name): [Type, string, unknown, string] => [
      'channel',
      `{${name}}`,
      `{${name}}`,
      `"{${name}}"`,
    ]),
  ];
  for (const [type, text, value, json] of good)
    it(`${type}: ${JSON.stringify(text).slice(0, 40)} is read alike by name, alone and from JSON`, async () => {
      const options = [{ name: type, type, value: typeof value === 'string' ? fill(value) : value }];
      const uses: [string, string][] = [
        ['all', typed(`${type}: ${fill(text)}`)],
        [`one-${type}`, typed(fill(text))],
        [`one-${type}`, typed(`${type}:${fill(text)}`)],
        ...(json === undefined ? [] : [['all', sent(type, fill(json))] as [string, string]]),
      ];
      for (const [command, body] of uses) {
        const answer = await invoke(command, body);
        expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
        expect(await stored(answer.body.id)).to.deep.equal(options);
        expect(Object.is((await stored(answer.body.id))[0]?.value, -0)).to.equal(false);
      }
    });

  const bad: [type: Type, text: string | null, json?: string][] = [
    ['string', '😀'.repeat(2001), `"${'😀'.repeat(2001)}"`],
    ['string', null, '""'],
    ['string', null, '5'],
    ['integer', '1.0', '1.5'],
    ['integer', '9007199254740992', '9007199254740992'],
    ['integer', '-9007199254740993', '-9007199254740993'],
    ['integer', '1e3', '1e300'],
    ['integer', '0x10', '"5"'],
    ['integer', '1_000', 'true'],
    ['integer', '٣', '""'],
    ['integer', '- 1', '1e309'],
    ['integer', '9'.repeat(20_000)],
    ['number', 'NaN', '"NaN"'],
    ['number', 'Infinity', '"1"'],
    ['number', '-Infinity', 'false'],
    ['number', '1e309', '1e309'],
    ['number', '0x10'],
    ['number', '1,5'],
    ['number', '1e'],
    ['boolean', 'y', '1'],
    ['boolean', '1', '"true "'],
    ['boolean', 'truetrue', '""'],
    ['user', '<@{left}>', '"{left}"'],
    ['user', '<@{stranger}>', '"{stranger}"'],
    ['user', '{member}', '1234567890123456789'],
    ['user', '<@&{role}>', '"<@&{role}>"'],
    ['user', '<@{member}> <@{owner}>', '"$ne"'],
    ['role', '<@&{foreignRole}>', '"{foreignRole}"'],
    ['role', '<@&{foreignEveryone}>', '"{foreignEveryone}"'],
    ['role', '<@&{goneRole}>', '"{goneRole}"'],
    ['role', '<@&{member}>', '"{member}"'],
    ['role', '@everyone', '"everyone"'],
    ...['hidden', 'hiddenThread', 'foreignChannel', 'goneChannel', 'dm', 'serverId'].map((name): [Type, string, string] => [
      'channel',
      `{${name}}`,
      `"{${name}}"`,
    ]),
    ['channel', '<#{text}>', '"#general"'],
  ];
  for (const [type, text, json] of bad)
    it(`${type}: ${JSON.stringify(text ?? json).slice(0, 40)} is refused, and the bot is told nothing`, async () => {
      const before = await scene.snapshot();
      const uses: [string, string][] = [
        ...(text === null
          ? []
          : ([
              ['all', typed(`${type}: ${fill(text)}`)],
              [`one-${type}`, typed(fill(text))],
            ] as [string, string][])),
        ...(json === undefined ? [] : [['all', sent(type, fill(json))] as [string, string]]),
      ];
      for (const [command, body] of uses) {
        const answer = await invoke(command, body);
        expect([answer.status, answer.body.code], body.slice(0, 200)).to.deep.equal([400, 'invalid_options']);
        expect(answer.body.errors.map(({ path }) => path)).to.deep.equal([type]);
      }
      expect(await scene.snapshot()).to.equal(before);
    });

  it('what the person may see decides, not the bot: the owner names the hidden channel and its thread', async () => {
    for (const name of ['hidden', 'hiddenThread'])
      expect((await invoke('all', typed(fill(`channel: {${name}}`)), owner)).status).to.equal(202);
  });

  it('a name given thousands of times is told once', async () => {
    const { status, body } = await invoke('all', typed('string: x '.repeat(5_000)));
    expect([status, body.errors.length]).to.deep.equal([400, 1]);
  });
});
