import { expect } from 'chai';
import type { Command } from '../../../lib/contract/command.ts';
import { word } from '../../harness/factories.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { tally } from '../../harness/requests.ts';
import { idOf, slash, useCommands } from './commands-fixture.ts';

describe('commands: concurrent changes', () => {
  const { fixture, globalPath, serverPath, put, get } = useCommands();
  const list = async (path?: string) => (await get(path)).body;

  for (const [about, fresh] of [
    ['first PUTs of a scope', true],
    ['PUTs of a scope', false],
  ] as const)
    it(`concurrent ${about}: one whole list is left, and a name in several of them has one id in every response (20 rounds)`, async () => {
      for (let round = 0; round < 20; round++) {
        const path = round % 2 ? serverPath() : globalPath();
        if (!fresh) await put([], path);
        else await fixture.api.platform.db.commands.deleteMany({ applicationId: fixture.bot.applicationId });
        const name = word('race');
        const lists = ['a', 'b', 'c', 'd'].map((tail) => [slash(name), slash(`${name}-${tail}`), slash(`${name}-${tail}2`)]);
        const answers = await Promise.all(lists.map((commands) => put(commands, path)));
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
        const left = await list(path);
        for (const { body } of answers) expect(idOf(body, name)).to.equal(idOf(left, name));
        expect(answers.map(({ body }) => JSON.stringify(body))).to.include(JSON.stringify(left));
      }
    });

  it('two PUTs that create a scope return the same id for the same name', async () => {
    const { db } = fixture.api.platform;
    await db.commands.deleteMany({ applicationId: fixture.bot.applicationId });
    let first: Command[] = [];
    interceptNext(db.commands, 'insertOne', async (real) => {
      first = (await put([slash('same'), slash('first')])).body;
      return real();
    });
    const second = await put([slash('same'), slash('second')]);
    expect(second.status).to.equal(200);
    expect(idOf(second.body, 'same')).to.equal(idOf(first, 'same'));
    expect(await list()).to.deep.equal(second.body);
    expect(await db.commands.countDocuments({ applicationId: fixture.bot.applicationId })).to.equal(1);
  });

  it('two DELETEs of one command: one 204, one 404 (10 rounds)', async () => {
    for (let round = 0; round < 10; round++) {
      const { body } = await put([slash('gone'), slash('stays')]);
      const remove = () => fixture.api.call('DELETE', `${globalPath()}/${idOf(body, 'gone')}`, { as: fixture.asBot });
      expect(tally(await Promise.all([remove(), remove()]))).to.deep.equal({ 204: 1, 404: 1 });
      expect(await list()).to.deep.equal([body[1]]);
    }
  });
});
