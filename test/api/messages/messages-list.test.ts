import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { setOverwrite, unknownId } from '../../harness/factories.ts';
import { refused } from '../../harness/requests.ts';
import { useMessages } from './message-fixture.ts';

describe('GET /api/channels/{channelId}/messages', () => {
  const { api, owner, server, bot, other, path, post, list, remove } = useMessages();
  const ids: string[] = [];
  before(async () => {
    for (let n = 0; n < 60; n++) ids.push((await post(`n ${n}`)).id);
  });
  const listIds = async (query = ''): Promise<string[]> => (await list(bot, query)).map(({ id }) => id);

  it('200 with the newest 50, oldest first', async () => {
    expect(await listIds()).to.deep.equal(ids.slice(-50));
  });

  it('before is exclusive, and can be the id of a deleted message', async () => {
    expect(await listIds(`?before=${ids[20]}&limit=5`)).to.deep.equal(ids.slice(15, 20));
    await remove(ids[20] as string);
    expect(await listIds(`?before=${ids[20]}&limit=2`)).to.deep.equal(ids.slice(18, 20));
    expect(await listIds('?limit=100')).to.not.include(ids[20]);
  });

  it('after is exclusive, oldest first', async () => {
    expect(await listIds(`?after=${ids[30]}&limit=3`)).to.deep.equal(ids.slice(31, 34));
  });

  it('a page that is read in parallel with the preflight shows the current author and applies the current permissions', async () => {
    const { db, accessVersions } = api.platform;
    const query = `?before=${ids[30]}&limit=1`;
    await list(other, query);
    await accessVersions.runChange({ accounts: [bot.id] }, () =>
      db.accounts.updateOne({ _id: bot.id }, { $set: { displayName: 'renamed' } }),
    );
    expect((await list(other, query))[0]?.author.displayName).to.equal('renamed');
    await setOverwrite(api, owner, server.general, server.id, 0, permissionBits['View Channel']);
    await refused(api, [403, 'missing_permission'], other, 'GET', path() + query);
    await setOverwrite(api, owner, server.general, server.id, 0, 0);
  });

  for (const query of [
    'limit=0',
    'limit=101',
    'limit=abc',
    'limit=',
    'limit=1.5',
    'limit=5&limit=6',
    'before=x',
    `before=${unknownId}&after=${unknownId}`,
  ])
    it(`400 for ${query}`, () => refused(api, [400, 'invalid_request'], bot, 'GET', `${path()}?${query}`));
});
