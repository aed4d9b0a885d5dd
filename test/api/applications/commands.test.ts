import { expect } from 'chai';
import type { Command } from '../../../lib/contract/command.ts';
import { type Bot, type Caller, makePerson } from '../../harness/factories.ts';
import { type Scene, startScene } from '../../harness/scene.ts';

describe('commands', () => {
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

  describe('who may manage commands', () => {
    const routes: [string, () => string][] = [
      ['GET', everywhere],
      ['PUT', everywhere],
      ['GET', here],
      ['PUT', here],
    ];
    for (const [method, path] of routes) {
      const call = (as: string | undefined, at = path()) => scene.api.call(method, at, { as, ...(method === 'PUT' ? { body: [] } : {}) });
      const about = `${method} ${path.name}`;
      it(`${about}: 200 for the bot and for the owner’s login`, async () => {
        expect((await call(scene.asBot)).status).to.equal(200);
        expect((await call(scene.asPerson)).status).to.equal(200);
      });
      it(`${about}: 403 not_owner for another bot and another person`, async () => {
        for (const as of [`Bot ${other.token}`, stranger.as]) {
          const answer = await call(as);
          expect([answer.status, answer.body.code]).to.deep.equal([403, 'not_owner']);
        }
      });
      it(`${about}: 404 for an unknown or malformed application, 401 without a credential`, async () => {
        for (const id of [scene.world.serverId, 'x', '0']) {
          const answer = await call(scene.asBot, path().replace(scene.bot.applicationId, id));
          expect([answer.status, answer.body.code]).to.deep.equal([404, 'not_found']);
        }
        expect((await call(undefined)).status).to.equal(401);
      });
    }

    it('404 for a server that the bot is not in, for the bot and the owner alike', async () => {
      const { members } = scene.api.platform.db;
      for (const id of [scene.channelId, 'x']) expect((await get(here().replace(scene.world.serverId, id))).status).to.equal(404);
      const key = `${scene.world.serverId}:${scene.bot.id}`;
      const member = await members.findOne({ _id: key }).lean();
      await scene.api.platform.versions.changing({ servers: [scene.world.serverId] }, async () => members.deleteOne({ _id: key }));
      try {
        for (const as of [scene.asBot, scene.asPerson]) expect((await put([], here(), as)).status).to.equal(404);
        expect((await get()).status).to.equal(200);
      } finally {
        await scene.api.platform.versions.changing({ servers: [scene.world.serverId] }, async () => members.insertMany([member as never]));
      }
    });
  });

  describe('PUT /api/applications/{appId}/commands', () => {
    it('fills in defaults, answers each with its id, and keeps only known fields', async () => {
      const { status, body } = await put([
        slash('first', { options: [slash('a', { required: true, junk: 1 }), slash('b', { type: 'user' })], junk: 1, id: '1' }),
        slash('second'),
        prefix('Ünï', { description: '' }),
      ]);
      expect(status).to.equal(200);
      const ids = body.map(({ id }) => id);
      for (const id of ids) expect(id).to.match(/^\d{19}$/);
      expect(body).to.deep.equal([
        {
          id: ids[0],
          name: 'first',
          description: 'x',
          kind: 'slash',
          options: [
            { name: 'a', description: 'x', type: 'string', required: true },
            { name: 'b', description: 'x', type: 'user', required: false },
          ],
        },
        { id: ids[1], name: 'second', description: 'x', kind: 'slash', options: [] },
        { id: ids[2], name: 'Ünï', description: '', kind: 'prefix', prefix: '!' },
      ]);
      expect((await get()).body).to.deep.equal(body);
    });

    it('keeps ids of the same kind and name, in any order, and gives others new ones', async () => {
      const [one, two] = (await put([slash('one'), slash('two')])).body;
      const again = (await put([slash('two', { description: 'changed' }), prefix('one'), slash('one'), slash('three')])).body;
      expect(again.map(({ name, kind }) => `${kind} ${name}`)).to.deep.equal(['slash two', 'prefix one', 'slash one', 'slash three']);
      expect(again[0]?.id).to.equal(two?.id);
      expect(again[0]?.description).to.equal('changed');
      expect(again[2]?.id).to.equal(one?.id);
      expect(new Set(again.map(({ id }) => id)).size).to.equal(4);
    });

    it('contents that look like expressions come back as typed', async () => {
      const odd = [slash('a', { description: '$name' }), prefix('$$NOW', { prefix: '$a', description: '$$ROOT' })];
      const { body } = await put(odd);
      expect(body.map(({ name, description }) => [name, description])).to.deep.equal([
        ['a', '$name'],
        ['$$NOW', '$$ROOT'],
      ]);
      expect((await put(odd)).body).to.deep.equal(body);
    });

    it('[] clears', async () => {
      await put([slash('one')]);
      expect((await put([])).body).to.deep.equal([]);
      expect((await get()).body).to.deep.equal([]);
    });

    it('100 of both kinds together are taken, each scope has its own 100', async () => {
      const hundred = Array.from({ length: 100 }, (_, at) => slash(`c${at}`));
      expect((await put(hundred)).body).to.have.length(100);
      expect((await put(hundred, here())).body).to.have.length(100);
      await put([], here());
    });
  });
});
