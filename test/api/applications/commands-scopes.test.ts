import { expect } from 'chai';
import type { Command } from '../../../lib/contract/command.ts';
import { authorize, type Bot, makeApplication, type Place } from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { make, newBot, newPerson, newServer, useServer } from '../../harness/use.ts';
import { commandsPath, idOf, pickCommands, putCommands, slash } from './commands-fixture.ts';

describe('commands: scopes and ids', () => {
  const { api, owner, server, second, bot, stranger } = useServer({ second: newServer(), bot: newBot(), stranger: newPerson() });
  const other = make(() => makeApplication(api, stranger));
  before(() => authorize(api, owner, bot, second.id));
  beforeEach(async () => {
    for (const scope of [undefined, server, second]) await put([], scope);
  });

  const put = (body: unknown, scope?: Place) => putCommands(api, bot, body, scope);
  const get = (scope?: Place) => send<Command[]>(api, 200, bot, 'GET', commandsPath(bot, scope));
  const remove = (id: string | undefined, as: Caller = bot, of: Bot = bot) =>
    api.call('DELETE', `${commandsPath(of)}/${id}`, { as: as.as });
  const picked = async ({ general: id }: Place) => (await pickCommands(api, owner, { id })).map(({ name }) => name);

  it('the same name has a different id in each scope', async () => {
    const ids: unknown[] = [];
    for (const scope of [undefined, server, second]) ids.push((await put([slash('same')], scope))[0]?.id);
    expect(new Set(ids).size).to.equal(3);
    expect(await put([], server)).to.deep.equal([]);
    expect(await get(server)).to.deep.equal([]);
    expect(await get()).to.have.length(1);
    expect(await get(second)).to.have.length(1);
    expect((await put([slash('same')], server))[0]?.id).to.not.be.oneOf(ids);
  });

  it('a server’s commands are listed in that server only, global ones in all', async () => {
    await put([slash('all')]);
    await put([slash('here')], server);
    await put([slash('there')], second);
    expect(await picked(server)).to.deep.equal(['all', 'here']);
    expect(await picked(second)).to.deep.equal(['all', 'there']);
    expect((await get(server)).map(({ name }) => name)).to.deep.equal(['here']);
  });

  it('a command keeps its id by kind and name, and gets a new one after it was removed', async () => {
    const [first] = await put([slash('a', { options: [slash('x')] }), slash('b')]);
    const moved = await put([slash('c'), slash('b'), slash('a', { description: 'y', options: [] })]);
    expect(moved[2]).to.deep.equal({ id: first?.id, name: 'a', description: 'y', kind: 'slash', options: [] });
    await put([slash('b')]);
    expect(idOf(await put([slash('a'), slash('b')]), 'b')).to.equal(moved[1]?.id);
    expect(idOf(await get(), 'a')).to.not.equal(first?.id);
  });

  it('a slash and a prefix command with the same name keep their own ids', async () => {
    const both = [slash('a'), { name: 'a', kind: 'prefix', prefix: '!' }];
    const made = await put(both);
    expect((await put([...both].reverse())).map(({ id }) => id)).to.deep.equal([made[1]?.id, made[0]?.id]);
    expect((await put([{ name: 'a', kind: 'prefix', prefix: '?' }]))[0]?.id).to.equal(made[1]?.id);
  });

  it('a removed command is not listed and cannot be used', async () => {
    const [gone] = await put([slash('gone')]);
    await put([slash('new')]);
    expect(await picked(server)).to.deep.equal(['new']);
    await refused(api, [404, 'not_found'], owner, 'POST', `/api/channels/${server.general}/commands/${gone?.id}/invoke`, {});
  });

  describe('DELETE /api/applications/{applicationId}/commands/{commandId}', () => {
    it('204 in both scopes, for the bot and the owner; 404 the second time; the other commands stay', async () => {
      const [a, b] = await put([slash('a'), slash('b')]);
      const [c, d] = await put([slash('c'), slash('d')], server);
      for (const [gone, as] of [
        [a, bot],
        [c, owner],
      ] as const) {
        expect((await remove(gone?.id, as)).status).to.equal(204);
        expect(await remove(gone?.id, as)).to.deep.include({ status: 404 });
      }
      expect(await get()).to.deep.equal([b]);
      expect(await get(server)).to.deep.equal([d]);
      expect(await picked(server)).to.deep.equal(['b', 'd']);
    });

    it('404 for another application’s command; 403 not_owner for others, also for an unknown command', async () => {
      const [mine] = await put([slash('mine')]);
      const [theirs] = await putCommands(api, other, [slash('theirs')]);
      expect((await remove(theirs?.id)).status).to.equal(404);
      expect((await remove(mine?.id, other, other)).status).to.equal(404);
      for (const as of [other, stranger])
        for (const id of [mine?.id, server.id]) expect((await remove(id, as)).body).to.include({ code: 'not_owner' });
      expect(await get()).to.deep.equal([mine]);
      expect(await send(api, 200, other, 'GET', commandsPath(other))).to.deep.equal([theirs]);
    });
  });

  it('403 not_owner for a bot at another application of its owner', async () => {
    const sister = await makeApplication(api, owner);
    for (const path of [commandsPath(sister), commandsPath(sister, server)]) {
      await refused(api, [403, 'not_owner'], bot, 'GET', path);
      await refused(api, [403, 'not_owner'], bot, 'PUT', path, []);
    }
    expect(await send(api, 200, owner, 'GET', commandsPath(sister))).to.deep.equal([]);
    await refused(api, [404, 'not_found'], owner, 'GET', commandsPath(sister, server)); // the owner is in the server, the bot is not
  });
});
