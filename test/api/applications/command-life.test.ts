import { expect } from 'chai';
import type { Command, PickerCommand } from '../../../lib/contract/command.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { authorize, type Bot, type Caller, makeBot, makePerson, makeServer, type Place, refused, send } from '../../harness/factories.ts';

describe('commands of a bot that goes', () => {
  let api: TestApi;
  let owner: Caller;
  let home: Place;
  let away: Place;
  let bot: Bot;
  let made: { all: string; local: string; away: string };
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
  });
  beforeEach(async () => {
    home = await makeServer(api, owner);
    away = await makeServer(api, owner);
    bot = await makeBot(api, owner, home.id);
    await authorize(api, owner, bot, away.id);
    made = { all: await put('all'), local: await put('local', home), away: await put('away', away) };
  });
  after(() => api.close());

  const scope = (place?: Place): string => `/api/applications/${bot.applicationId}${place ? `/servers/${place.id}` : ''}/commands`;
  const put = async (name: string, place?: Place): Promise<string> =>
    String((await send<Command[]>(api, 200, bot, 'PUT', scope(place), [{ name, description: 'x' }]))[0]?.id);
  const picked = async (channelId: string): Promise<string[]> =>
    (await send<PickerCommand[]>(api, 200, owner, 'GET', `/api/channels/${channelId}/commands`)).map(({ id }) => id);
  const unusable = (id: string, channelId = home.general) =>
    refused(api, [404, 'not_found'], owner, 'POST', `/api/channels/${channelId}/commands/${id}/invoke`, {});
  const open = () => send<DmChannel>(api, 201, owner, 'POST', '/api/users/@me/channels', { recipientId: bot.id });

  const ways: [how: string, act: () => Promise<unknown>][] = [
    ['is kicked', () => send(api, 204, owner, 'DELETE', `/api/servers/${home.id}/members/${bot.id}`)],
    ['leaves', () => send(api, 204, bot, 'DELETE', `/api/users/@me/servers/${home.id}`)],
  ];
  for (const [how, act] of ways)
    it(`${how}: none of its commands shows or can be used there with the answer; elsewhere they stand`, async () => {
      expect(await picked(home.general)).to.have.members([made.all, made.local]);
      await act();
      expect(await picked(home.general)).to.deep.equal([]);
      for (const id of [made.all, made.local]) await unusable(id);
      expect(await picked(away.general)).to.have.members([made.all, made.away]);
      await refused(api, [404, 'not_found'], bot, 'PUT', scope(home), []);
      await refused(api, [404, 'not_found'], owner, 'GET', scope(home));
      expect(await send<Command[]>(api, 200, bot, 'GET', scope())).to.have.length(1);
    });

  it('added again, the list of the server holds again with its ids, unless it was deleted by id meanwhile', async () => {
    const second = await put('local', home);
    const leave = () => send(api, 204, bot, 'DELETE', `/api/users/@me/servers/${home.id}`);
    expect(second).to.equal(made.local);
    await leave();
    await authorize(api, owner, bot, home.id);
    expect(await picked(home.general)).to.have.members([made.all, made.local]);
    expect(await put('local', home)).to.equal(made.local);
    await leave();
    await send(api, 204, owner, 'DELETE', `${scope()}/${made.local}`);
    await authorize(api, owner, bot, home.id);
    expect(await picked(home.general)).to.deep.equal([made.all]);
    expect(await put('local', home)).to.not.equal(made.local);
  });

  it('a DM keeps those of everywhere when the last shared server is gone, but they cannot be used', async () => {
    const dm = await open();
    for (const place of [home, away]) await send(api, 204, bot, 'DELETE', `/api/users/@me/servers/${place.id}`);
    expect(await picked(dm.id)).to.deep.equal([made.all]);
    await refused(api, [403, 'no_shared_server'], owner, 'POST', `/api/channels/${dm.id}/commands/${made.all}/invoke`, {});
  });

  it('its application is deleted: nothing of it shows anywhere', async () => {
    const dm = await open();
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    for (const channelId of [home.general, away.general, dm.id]) expect(await picked(channelId)).to.deep.equal([]);
    for (const id of Object.values(made)) await unusable(id);
    for (const path of [scope(), scope(home)]) {
      await refused(api, [404, 'not_found'], owner, 'GET', path);
      await refused(api, [401, 'unauthorized'], bot, 'PUT', path, []);
    }
  });

  it('its server is deleted: the scope is gone for bot and owner, the others stand', async () => {
    await send(api, 204, owner, 'DELETE', `/api/servers/${home.id}`);
    for (const as of [bot, owner]) await refused(api, [404, 'not_found'], as, 'GET', scope(home));
    await refused(api, [404, 'not_found'], owner, 'GET', `/api/channels/${home.general}/commands`);
    expect(await picked(away.general)).to.have.members([made.all, made.away]);
  });

  it('a new token changes nothing of its commands', async () => {
    const { token } = await send<{ token: string }>(api, 200, owner, 'POST', `/api/applications/${bot.applicationId}/token`);
    await refused(api, [401, 'unauthorized'], bot, 'PUT', scope(), []);
    bot = { ...bot, token, as: `Bot ${token}` };
    expect(await put('all')).to.equal(made.all);
    expect(await picked(home.general)).to.have.members([made.all, made.local]);
  });
});
