import { expect } from 'chai';
import type { Command, PickerCommand } from '../../../lib/contract/command.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  makeApplication,
  makeBot,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';

describe('commands: scopes and ids', () => {
  let api: TestApi;
  let owner: Caller;
  let stranger: Caller;
  let bot: Bot;
  let other: Bot;
  let home: Place;
  let second: Place;
  before(async () => {
    api = await startTestApi();
    [owner, stranger] = [await makePerson(api), await makePerson(api)];
    [home, second] = [await makeServer(api, owner), await makeServer(api, owner)];
    bot = await makeBot(api, owner, home.id);
    await authorize(api, owner, bot, second.id);
    other = await makeBot(api, stranger, (await makeServer(api, stranger)).id);
  });
  beforeEach(async () => {
    for (const path of [everywhere(), inServer(home), inServer(second)]) await put([], path);
  });
  after(() => api.close());

  const everywhere = (of: Bot = bot): string => `/api/applications/${of.applicationId}/commands`;
  const inServer = (place: Place, of: Bot = bot): string => `/api/applications/${of.applicationId}/servers/${place.id}/commands`;
  const slash = (name: string, more: object = {}) => ({ name, description: 'x', ...more });
  const put = (body: unknown, path = everywhere(), as: Caller = bot) => send<Command[]>(api, 200, as, 'PUT', path, body);
  const get = (path = everywhere()) => send<Command[]>(api, 200, bot, 'GET', path);
  const idOf = (list: readonly Command[], name: string) => list.find((one) => one.name === name)?.id;
  const remove = (id: string | undefined, as: Caller = bot, of: Bot = bot) => api.call('DELETE', `${everywhere(of)}/${id}`, { as: as.as });
  const picked = async (place: Place) =>
    (await send<PickerCommand[]>(api, 200, owner, 'GET', `/api/channels/${place.general}/commands`)).map(({ name }) => name);

  it('each scope is its own: a name stands in all of them under ids of its own', async () => {
    const paths = [everywhere(), inServer(home), inServer(second)];
    const ids: unknown[] = [];
    for (const path of paths) ids.push((await put([slash('same')], path))[0]?.id);
    expect(new Set(ids).size).to.equal(3);
    await put([], inServer(home));
    expect(await get()).to.have.length(1);
    expect(await get(inServer(second))).to.have.length(1);
    expect((await put([slash('same')], inServer(home)))[0]?.id).to.not.be.oneOf(ids);
  });

  it('a server’s commands show in that server only, those of everywhere in all', async () => {
    await put([slash('all')]);
    await put([slash('here')], inServer(home));
    await put([slash('there')], inServer(second));
    expect(await picked(home)).to.deep.equal(['all', 'here']);
    expect(await picked(second)).to.deep.equal(['all', 'there']);
    expect((await get(inServer(home))).map(({ name }) => name)).to.deep.equal(['here']);
  });

  it('an id stays for the kind and name, wherever in the list and whatever else changes; a name that was gone gets a new one', async () => {
    const [first] = await put([slash('a', { options: [slash('x')] }), slash('b')]);
    const moved = await put([slash('c'), slash('b'), slash('a', { description: 'y', options: [] })]);
    expect(moved[2]).to.deep.equal({ id: first?.id, name: 'a', description: 'y', kind: 'slash', options: [] });
    await put([slash('b')]);
    expect(idOf(await put([slash('a'), slash('b')]), 'b')).to.equal(moved[1]?.id);
    expect(idOf(await get(), 'a')).to.not.equal(first?.id);
  });

  it('a slash and a prefix command of one name keep their own ids', async () => {
    const both = [slash('a'), { name: 'a', kind: 'prefix', prefix: '!' }];
    const made = await put(both);
    expect((await put([...both].reverse())).map(({ id }) => id)).to.deep.equal([made[1]?.id, made[0]?.id]);
    expect((await put([{ name: 'a', kind: 'prefix', prefix: '?' }]))[0]?.id).to.equal(made[1]?.id);
  });

  it('a command that is no longer sent is gone for the picker and for use', async () => {
    const [gone] = await put([slash('gone')]);
    await put([slash('new')]);
    expect(await picked(home)).to.deep.equal(['new']);
    await refused(api, [404, 'not_found'], owner, 'POST', `/api/channels/${home.general}/commands/${gone?.id}/invoke`, {});
  });

  describe('DELETE /api/applications/{appId}/commands/{commandId}', () => {
    it('204 for either scope, by the bot and by the owner; 404 the second time; the rest stays', async () => {
      const [a, b] = await put([slash('a'), slash('b')]);
      const [c, d] = await put([slash('c'), slash('d')], inServer(home));
      for (const [gone, as] of [
        [a, bot],
        [c, owner],
      ] as const) {
        expect((await remove(gone?.id, as)).status).to.equal(204);
        expect(await remove(gone?.id, as)).to.deep.include({ status: 404 });
      }
      expect(await get()).to.deep.equal([b]);
      expect(await get(inServer(home))).to.deep.equal([d]);
      expect(await picked(home)).to.deep.equal(['b', 'd']);
    });

    it('a command that is added again gets a new id', async () => {
      const [a] = await put([slash('a')]);
      await remove(a?.id);
      expect((await put([slash('a')]))[0]?.id).to.not.equal(a?.id);
    });

    it('404 for another application’s command and for what is no id', async () => {
      const [mine] = await put([slash('mine')]);
      const [theirs] = await put([slash('theirs')], everywhere(other), other);
      expect((await remove(theirs?.id)).status).to.equal(404);
      expect((await remove(mine?.id, other, other)).status).to.equal(404);
      for (const id of ['x', '0', mine?.name, `${mine?.id}0`, '%24ne', '%00']) expect((await remove(id)).status).to.equal(404);
      expect(await get()).to.deep.equal([mine]);
      expect(await send(api, 200, other, 'GET', everywhere(other))).to.deep.equal([theirs]);
    });

    it('403 not_owner for anyone else, who learns nothing of the command; 404 for an application that is not there; 401', async () => {
      const [mine] = await put([slash('mine')]);
      for (const as of [other, stranger])
        for (const id of [mine?.id, home.id]) expect((await remove(id, as)).body).to.include({ code: 'not_owner' });
      await refused(api, [404, 'not_found'], owner, 'DELETE', `/api/applications/${home.id}/commands/${mine?.id}`);
      await refused(api, [401, 'unauthorized'], null, 'DELETE', `${everywhere()}/${mine?.id}`);
      expect(await get()).to.deep.equal([mine]);
    });
  });

  it('an own bot’s token does not open another application of the same owner', async () => {
    const sister = await makeApplication(api, owner);
    for (const path of [everywhere(sister), inServer(home, sister)]) {
      await refused(api, [403, 'not_owner'], bot, 'GET', path);
      await refused(api, [403, 'not_owner'], bot, 'PUT', path, []);
    }
    expect(await send(api, 200, owner, 'GET', everywhere(sister))).to.deep.equal([]);
    await refused(api, [404, 'not_found'], owner, 'GET', inServer(home, sister)); // its bot is not in there, its owner is
  });
});
