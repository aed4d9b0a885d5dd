import { expect } from 'chai';
import type { Command } from '../../lib/contract/command.ts';
import { type Bot, type Caller, makePerson, word } from '../harness/factories.ts';
import { type Scene, startScene } from '../harness/scene.ts';

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

    const options = (...list: object[]) => [slash('a', { options: list })];
    const bad: [about: string, body: unknown, ...paths: string[]][] = [
      ['not a list', { name: 'a' }, '/'],
      ['101 commands', Array.from({ length: 101 }, (_, at) => slash(`c${at}`)), '/'],
      ['an item that is no object', [1], '/0'],
      ['no name', [{ description: 'x' }], '/0/name'],
      ['an empty name', [slash('')], '/0/name'],
      ['a name that is a number', [slash(1 as never)], '/0/name'],
      ['33 characters', [slash('a'.repeat(33))], '/0/name'],
      ['a slash name with a capital', [slash('ok'), slash('Not')], '/1/name'],
      ['a slash name with a space', [slash('a b')], '/0/name'],
      ['a slash name with a line break', [slash('a\n')], '/0/name'],
      ['a prefix name with a space', [prefix('a b')], '/0/name'],
      ['a slash command without description', [{ name: 'a' }], '/0/description'],
      ['a slash command with an empty description', [slash('a', { description: '' })], '/0/description'],
      ['a blank description', [slash('a', { description: ' ' })], '/0/description'],
      ['101 characters of description', [prefix('a', { description: '😀'.repeat(101) })], '/0/description'],
      ['an unknown kind', [slash('a', { kind: 'user' })], '/0/kind'],
      ['kind null', [slash('a', { kind: null })], '/0/kind'],
      ['prefix on a slash command', [slash('a', { prefix: '!' })], '/0/prefix'],
      ['a prefix command without prefix', [{ name: 'a', kind: 'prefix' }], '/0/prefix'],
      ['an empty prefix', [prefix('a', { prefix: '' })], '/0/prefix'],
      ['six characters of prefix', [prefix('a', { prefix: '!!!!!!' })], '/0/prefix'],
      ['a prefix with a space', [prefix('a', { prefix: '! ' })], '/0/prefix'],
      ['options on a prefix command', [prefix('a', { options: [] })], '/0/options'],
      ['26 options', options(...Array.from({ length: 26 }, (_, at) => slash(`o${at}`))), '/0/options'],
      ['an option with a capital', options(slash('ok'), slash('No')), '/0/options/1/name'],
      ['an option without description', options({ name: 'a' }), '/0/options/0/description'],
      ['an option of an unknown type', options(slash('a', { type: 'attachment' })), '/0/options/0/type'],
      ['required that is no boolean', options(slash('a', { required: 'yes' })), '/0/options/0/required'],
      ['required after optional', options(slash('a'), slash('b', { required: true })), '/0/options/1/required'],
      ['two options of one name', options(slash('a'), slash('a')), '/0/options/1/name'],
      ['two slash commands of one name', [slash('a'), prefix('a'), slash('a')], '/2/name'],
      ['two prefix commands of one name', [prefix('a'), prefix('a', { prefix: '?' })], '/1/name'],
      [
        'several faults are told together',
        [slash('A', { prefix: '!' }), prefix('b', { options: [] })],
        '/0/name',
        '/0/prefix',
        '/1/options',
      ],
    ];
    for (const [about, body, ...paths] of bad)
      it(`400 invalid_request, and the old list stays: ${about}`, async () => {
        const old = (await put([slash('old')])).body;
        const answer = await scene.api.call<{ code: string; errors: { path: string }[] }>('PUT', everywhere(), { as: scene.asBot, body });
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'invalid_request']);
        expect(answer.body.errors.map(({ path }) => path)).to.deep.equal(paths);
        expect((await get()).body).to.deep.equal(old);
      });

    it('the same name as slash and as prefix command is fine, and emoji count once', async () => {
      const { status } = await put([slash('a'), prefix('a'), prefix('b', { prefix: '😀'.repeat(5) })]);
      expect(status).to.equal(200);
    });

    it('two PUTs at once leave one whole list, and a name keeps one id (20 rounds)', async () => {
      for (let round = 0; round < 20; round++) {
        const name = word('race');
        const lists = ['a', 'b', 'c', 'd'].map((tail) => [slash(name), slash(`${name}-${tail}`), slash(`${name}-${tail}2`)]);
        const path = round % 2 ? here() : everywhere();
        const answers = await Promise.all(lists.map((list) => put(list, path)));
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
        expect(new Set(answers.map(({ body }) => body[0]?.id)).size).to.equal(1);
        const standing = (await get(path)).body;
        expect(answers.map(({ body }) => JSON.stringify(body))).to.include(JSON.stringify(standing));
      }
      await put([], here());
    });
  });
});
