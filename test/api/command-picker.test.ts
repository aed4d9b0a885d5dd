import { expect } from 'chai';
import type { Command, PickerCommand } from '../../lib/contract/command.ts';
import { type Bot, type Caller, makePerson, send } from '../harness/factories.ts';
import { type Scene, startScene } from '../harness/scene.ts';

describe('the picker', () => {
  let scene: Scene;
  let stranger: Caller;
  let other: Scene['world']['bots'][number];
  before(async () => {
    scene = await startScene();
    stranger = await makePerson(scene.api);
    other = scene.world.bots[1] as Bot;
  });
  after(() => scene.close());

  const everywhere = (): string => `/api/applications/${scene.bot.applicationId}/commands`;
  const here = (): string => `/api/applications/${scene.bot.applicationId}/servers/${scene.world.serverId}/commands`;
  const slash = (name: string, more: object = {}) => ({ name, description: 'x', ...more });
  const prefix = (name: string, more: object = {}) => ({ name, kind: 'prefix', prefix: '!', ...more });
  const put = (body: unknown, path = everywhere(), as = scene.asBot) => scene.api.call<Command[]>('PUT', path, { as, body });
  const get = (path = everywhere(), as = scene.asBot) => scene.api.call<Command[]>('GET', path, { as });
  const pick = (q = '', channelId = scene.channelId, as = scene.asPerson) =>
    scene.api.call<PickerCommand[]>('GET', `/api/channels/${channelId}/commands?q=${encodeURIComponent(q)}`, { as });

  describe('DELETE /api/applications/{appId}/commands/{commandId}', () => {
    const remove = (id: string, as = scene.asBot) => scene.api.call('DELETE', `${everywhere()}/${id}`, { as });

    it('204 for either scope, 404 the second time', async () => {
      const [a, b] = (await put([slash('a'), slash('b')])).body;
      const [c] = (await put([slash('c')], here())).body;
      for (const gone of [a, c]) {
        expect((await remove(String(gone?.id))).status).to.equal(204);
        expect((await remove(String(gone?.id))).status).to.equal(404);
      }
      expect((await get()).body).to.deep.equal([b]);
      expect((await get(here())).body).to.deep.equal([]);
    });

    it('403 not_owner, and 404 for a command of another application', async () => {
      const [mine] = (await put([slash('mine')])).body;
      expect((await remove(String(mine?.id), stranger.as)).status).to.equal(403);
      const path = `/api/applications/${other.applicationId}/commands`;
      expect((await scene.api.call('DELETE', `${path}/${mine?.id}`, { as: `Bot ${other.token}` })).status).to.equal(404);
      expect((await remove('x')).status).to.equal(404);
      expect((await get()).body).to.have.length(1);
    });
  });

  describe('GET /api/channels/{channelId}/commands', () => {
    it('lists slash and prefix commands of everywhere and of this server, with their application', async () => {
      await put([slash('beta'), prefix('Alpha')]);
      await put([slash('gamma')], here());
      const { status, body } = await pick();
      expect(status).to.equal(200);
      expect(body.map(({ name }) => name)).to.deep.equal(['Alpha', 'beta', 'gamma']);
      expect(body[0]?.application).to.deep.equal({ id: scene.bot.applicationId, name: 'app 0', iconUrl: null });
      await put([], here());
    });

    it('changes show at once', async () => {
      await put([slash('now')]);
      expect((await pick()).body.map(({ name }) => name)).to.deep.equal(['now']);
      await put([]);
      expect((await pick()).body).to.deep.equal([]);
    });

    it('q is literal text in any case, those that begin with it first', async () => {
      await put([slash('a-stop'), slash('stop'), slash('other'), prefix('S.op')]);
      expect((await pick('STOP')).body.map(({ name }) => name)).to.deep.equal(['stop', 'a-stop']);
      expect((await pick('s.op')).body.map(({ name }) => name)).to.deep.equal(['S.op']);
      expect((await pick('/stop')).body.map(({ name }) => name)).to.deep.equal(['stop', 'a-stop']);
      expect((await pick('.*')).body).to.deep.equal([]);
      const twice = await scene.api.call('GET', `/api/channels/${scene.channelId}/commands?q=a&q=b`, { as: scene.asPerson });
      expect(twice.status).to.equal(400);
    });

    it('not those of a bot that cannot view the channel, nor of another server', async () => {
      const { db, versions } = scene.api.platform;
      const hidden = [{ id: scene.bot.id, allow: 0, deny: 1 }];
      const path = `/api/applications/${other.applicationId}/commands`;
      await scene.api.call('PUT', path, { as: `Bot ${other.token}`, body: [slash('theirs')] });
      await put([slash('mine')]);
      await db.commands.create({
        _id: `${scene.bot.applicationId}:${stranger.id}`,
        applicationId: scene.bot.applicationId,
        serverId: stranger.id,
        commands: [{ id: stranger.id, name: 'elsewhere', description: 'x', kind: 'slash', options: [] }],
      });
      expect((await pick()).body.map(({ name }) => name)).to.deep.equal(['mine', 'theirs']);
      const overwrite = (overwrites: typeof hidden) =>
        versions.changing({ servers: [scene.world.serverId] }, async () =>
          db.channels.updateOne({ _id: scene.channelId }, { $set: { overwrites } }),
        );
      await overwrite(hidden);
      expect((await pick()).body.map(({ name }) => name)).to.deep.equal(['theirs']);
      await overwrite([]);
      await scene.api.call('PUT', path, { as: `Bot ${other.token}`, body: [] });
    });

    it('404 for who is not in the server', async () => {
      expect((await pick('', scene.channelId, stranger.as)).status).to.equal(404);
      await send(scene.api, 404, stranger, 'GET', '/api/channels/x/commands');
    });
  });
});
