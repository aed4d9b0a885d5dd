import { expect } from 'chai';
import type { Command } from '../../../lib/contract/command.ts';
import { authorize, leave, openDm, type Place } from '../../harness/factories.ts';
import { refused, send } from '../../harness/requests.ts';
import { make, newBot, newServer, useServer } from '../../harness/use.ts';
import { commandsPath, pickCommands, putCommands, slash } from './commands-fixture.ts';

describe('commands of a bot that leaves or is deleted', () => {
  const { api, owner, server, bot, other } = useServer({ bot: newBot(), other: newServer() }, { each: true });
  /** The ids of the bot's commands: a global one, and one for each server. */
  const made = make(
    async () => {
      await authorize(api, owner, bot, other.id);
      return { global: await put('global'), local: await put('local', server), other: await put('other', other) };
    },
    { each: true },
  );

  const path = (scope?: Place): string => commandsPath(bot, scope);
  const put = async (name: string, scope?: Place): Promise<string> => String((await putCommands(api, bot, [slash(name)], scope))[0]?.id);
  const picked = async (id: string): Promise<string[]> => (await pickCommands(api, owner, { id })).map((one) => one.id);
  const refusedInvoke = (id: string, channelId = server.general) =>
    refused(api, [404, 'not_found'], owner, 'POST', `/api/channels/${channelId}/commands/${id}/invoke`, {});

  const ways: [how: string, act: () => Promise<unknown>][] = [
    ['is kicked', () => send(api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${bot.id}`)],
    ['leaves', () => leave(api, bot, server.id)],
  ];
  for (const [how, act] of ways)
    it(`a bot that ${how} has no commands in that server at once; those in its other servers stay`, async () => {
      expect(await picked(server.general)).to.have.members([made.global, made.local]);
      await act();
      expect(await picked(server.general)).to.deep.equal([]);
      for (const id of [made.global, made.local]) await refusedInvoke(id);
      expect(await picked(other.general)).to.have.members([made.global, made.other]);
      await refused(api, [404, 'not_found'], bot, 'PUT', path(server), []);
      await refused(api, [404, 'not_found'], owner, 'GET', path(server));
      expect(await send<Command[]>(api, 200, bot, 'GET', path())).to.have.length(1);
    });

  it('a bot that is added again has its commands for the server with their ids, without those deleted meanwhile', async () => {
    const second = await put('local', server);
    expect(second).to.equal(made.local);
    await leave(api, bot, server.id);
    await authorize(api, owner, bot, server.id);
    expect(await picked(server.general)).to.have.members([made.global, made.local]);
    expect(await put('local', server)).to.equal(made.local);
    await leave(api, bot, server.id);
    await send(api, 204, owner, 'DELETE', `${path()}/${made.local}`);
    await authorize(api, owner, bot, server.id);
    expect(await picked(server.general)).to.deep.equal([made.global]);
    expect(await put('local', server)).to.not.equal(made.local);
  });

  it('a DM lists the global commands without a shared server, but they cannot be used', async () => {
    const dm = await openDm(api, owner, bot);
    for (const { id } of [server, other]) await leave(api, bot, id);
    expect(await picked(dm.id)).to.deep.equal([made.global]);
    await refused(api, [403, 'no_shared_server'], owner, 'POST', `/api/channels/${dm.id}/commands/${made.global}/invoke`, {});
  });

  it('the commands of a deleted application are gone everywhere', async () => {
    const dm = await openDm(api, owner, bot);
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    for (const channelId of [server.general, other.general, dm.id]) expect(await picked(channelId)).to.deep.equal([]);
    for (const id of Object.values(made)) await refusedInvoke(id);
    for (const gone of [path(), path(server)]) {
      await refused(api, [404, 'not_found'], owner, 'GET', gone);
      await refused(api, [401, 'unauthorized'], bot, 'PUT', gone, []);
    }
  });

  it('the commands for a deleted server are gone for bot and owner; the others stay', async () => {
    await send(api, 204, owner, 'DELETE', `/api/servers/${server.id}`);
    for (const as of [bot, owner]) await refused(api, [404, 'not_found'], as, 'GET', path(server));
    await refused(api, [404, 'not_found'], owner, 'GET', `/api/channels/${server.general}/commands`);
    expect(await picked(other.general)).to.have.members([made.global, made.other]);
  });

  it('a new token of the bot leaves its commands as they are', async () => {
    const { token } = await send<{ token: string }>(api, 200, owner, 'POST', `/api/applications/${bot.applicationId}/token`);
    await refused(api, [401, 'unauthorized'], bot, 'PUT', path(), []);
    Object.assign(bot, { token, as: `Bot ${token}` });
    expect(await put('global')).to.equal(made.global);
    expect(await picked(server.general)).to.have.members([made.global, made.local]);
  });
});
