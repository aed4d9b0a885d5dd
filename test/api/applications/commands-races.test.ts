import { expect } from 'chai';
import type { Command } from '../../../lib/contract/command.ts';
import { around } from '../../harness/around.ts';
import { tally, word } from '../../harness/factories.ts';
import { type Scene, startScene } from '../../harness/scene.ts';

describe('commands: changes that meet', () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const everywhere = (): string => `/api/applications/${scene.bot.applicationId}/commands`;
  const here = (): string => `/api/applications/${scene.bot.applicationId}/servers/${scene.world.serverId}/commands`;
  const slash = (name: string) => ({ name, description: 'x' });
  const put = (body: unknown, path: string) => scene.api.call<Command[]>('PUT', path, { as: scene.asBot, body });
  const standing = async (path: string) => (await scene.api.call<Command[]>('GET', path, { as: scene.asBot })).body;
  const idOf = (list: readonly Command[], name: string) => list.find((one) => one.name === name)?.id;

  for (const [about, fresh] of [
    ['first PUTs of a scope', true],
    ['PUTs of a scope', false],
  ] as const)
    it(`${about}: one whole list is left, and a name that several sent has one id in every answer (20 rounds)`, async () => {
      for (let round = 0; round < 20; round++) {
        const path = round % 2 ? here() : everywhere();
        if (!fresh) await put([], path);
        else await scene.api.platform.db.commands.deleteMany({ applicationId: scene.bot.applicationId });
        const name = word('race');
        const lists = ['a', 'b', 'c', 'd'].map((tail) => [slash(name), slash(`${name}-${tail}`), slash(`${name}-${tail}2`)]);
        const answers = await Promise.all(lists.map((list) => put(list, path)));
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
        const left = await standing(path);
        for (const { body } of answers) expect(idOf(body, name)).to.equal(idOf(left, name));
        expect(answers.map(({ body }) => JSON.stringify(body))).to.include(JSON.stringify(left));
      }
    });

  it('a scope that another PUT makes just before this one does: both answer the id that stands', async () => {
    const { db } = scene.api.platform;
    await db.commands.deleteMany({ applicationId: scene.bot.applicationId });
    let first: Command[] = [];
    around(db.commands.collection, 'insertOne', async (real) => {
      first = (await put([slash('same'), slash('first')], everywhere())).body;
      return real();
    });
    const second = await put([slash('same'), slash('second')], everywhere());
    expect(second.status).to.equal(200);
    expect(idOf(second.body, 'same')).to.equal(idOf(first, 'same'));
    expect(await standing(everywhere())).to.deep.equal(second.body);
    expect(await db.commands.countDocuments({ applicationId: scene.bot.applicationId })).to.equal(1);
  });

  it('two DELETEs of one command: one 204, one 404 (10 rounds)', async () => {
    for (let round = 0; round < 10; round++) {
      const { body } = await put([slash('gone'), slash('stays')], everywhere());
      const remove = () => scene.api.call('DELETE', `${everywhere()}/${idOf(body, 'gone')}`, { as: scene.asBot });
      expect(tally(await Promise.all([remove(), remove()]))).to.deep.equal({ 204: 1, 404: 1 });
      expect(await standing(everywhere())).to.deep.equal([body[1]]);
    }
  });
});
