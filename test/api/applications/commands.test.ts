import { expect } from 'chai';
import { makePerson } from '../../harness/factories.ts';
import { botOf } from '../../harness/seed.ts';
import { make } from '../../harness/use.ts';
import { prefix, slash, useCommands } from './commands-fixture.ts';

describe('commands', () => {
  const { fixture, globalPath, serverPath, put, get } = useCommands();
  const stranger = make(() => makePerson(fixture.api));

  describe('access', () => {
    const routes = [
      ['GET', 'global commands', globalPath],
      ['PUT', 'global commands', globalPath],
      ['GET', 'a server’s commands', serverPath],
      ['PUT', 'a server’s commands', serverPath],
    ] as const;
    for (const [method, what, path] of routes) {
      const call = (as: string | undefined, at = path()) => fixture.api.call(method, at, { as, ...(method === 'PUT' ? { body: [] } : {}) });
      const about = `${method} ${what}`;
      it(`${about}: 200 for the bot and its owner`, async () => {
        expect((await call(fixture.asBot)).status).to.equal(200);
        expect((await call(fixture.asPerson)).status).to.equal(200);
      });
      it(`${about}: 403 not_owner for another bot and another person`, async () => {
        for (const { as } of [botOf(fixture.seeded, 1), stranger]) {
          const answer = await call(as);
          expect([answer.status, answer.body.code]).to.deep.equal([403, 'not_owner']);
        }
      });
      it(`${about}: 404 for an unknown or malformed application, 401 without a credential`, async () => {
        for (const id of [fixture.seeded.serverId, 'x', '0']) {
          const answer = await call(fixture.asBot, path().replace(fixture.bot.applicationId, id));
          expect([answer.status, answer.body.code]).to.deep.equal([404, 'not_found']);
        }
        expect((await call(undefined)).status).to.equal(401);
      });
    }

    it('404 for a server that the bot is not in, for the bot and its owner', async () => {
      const { members } = fixture.api.platform.db;
      for (const id of [fixture.channelId, 'x'])
        expect((await get(serverPath().replace(fixture.seeded.serverId, id))).status).to.equal(404);
      const key = `${fixture.seeded.serverId}:${fixture.bot.id}`;
      const member = await members.findOne({ _id: key });
      await fixture.api.platform.accessVersions.runChange({ servers: [fixture.seeded.serverId] }, async () =>
        members.deleteOne({ _id: key }),
      );
      try {
        for (const as of [fixture.asBot, fixture.asPerson]) expect((await put([], serverPath(), as)).status).to.equal(404);
        expect((await get()).status).to.equal(200);
      } finally {
        await fixture.api.platform.accessVersions.runChange({ servers: [fixture.seeded.serverId] }, async () =>
          members.insertMany([member as never]),
        );
      }
    });
  });

  describe('PUT /api/applications/{applicationId}/commands', () => {
    it('fills in defaults, returns each command with its id, and ignores unknown fields', async () => {
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

    it('keeps the ids of commands with the same kind and name in any order, and gives other commands new ids', async () => {
      const [one, two] = (await put([slash('one'), slash('two')])).body;
      const again = (await put([slash('two', { description: 'changed' }), prefix('one'), slash('one'), slash('three')])).body;
      expect(again.map(({ name, kind }) => `${kind} ${name}`)).to.deep.equal(['slash two', 'prefix one', 'slash one', 'slash three']);
      expect(again[0]?.id).to.equal(two?.id);
      expect(again[0]?.description).to.equal('changed');
      expect(again[2]?.id).to.equal(one?.id);
      expect(new Set(again.map(({ id }) => id)).size).to.equal(4);
    });

    it('keeps text that looks like a database expression', async () => {
      const odd = [slash('a', { description: '$name' }), prefix('$$NOW', { prefix: '$a', description: '$$ROOT' })];
      const { body } = await put(odd);
      expect(body.map(({ name, description }) => [name, description])).to.deep.equal([
        ['a', '$name'],
        ['$$NOW', '$$ROOT'],
      ]);
      expect((await put(odd)).body).to.deep.equal(body);
    });

    it('[] removes all commands', async () => {
      await put([slash('one')]);
      expect((await put([])).body).to.deep.equal([]);
      expect((await get()).body).to.deep.equal([]);
    });

    it('200 for 100 commands in each scope', async () => {
      const hundred = Array.from({ length: 100 }, (_, at) => slash(`c${at}`));
      expect((await put(hundred)).body).to.have.length(100);
      expect((await put(hundred, serverPath())).body).to.have.length(100);
      await put([], serverPath());
    });
  });
});
