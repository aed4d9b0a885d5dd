import { expect } from 'chai';
import type { CommandStartedEvent } from 'mongodb';
import { readById } from '../../lib/store/mongo/batched-reads.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { testConfig } from '../harness/stores.ts';
import { makePeople } from '../harness/world.ts';

describe('batched reads', () => {
  let api: TestApi;
  const commands: string[] = [];
  before(async () => {
    api = await startTestApi({ MONGODB_URL: `${testConfig().MONGODB_URL}&monitorCommands=true` });
    api.platform.db.accounts.db.getClient().on('commandStarted', ({ commandName }: CommandStartedEvent) => commands.push(commandName));
  });
  after(() => api.close());

  it('ids that are asked in one turn take one query, an unknown one is null, and a later turn reads again', async () => {
    const { db } = api.platform;
    const people = await makePeople(api.platform, 3);
    commands.length = 0;
    const ids = [...people.map(({ id }) => id), 'unknown'];
    const found = await Promise.all(ids.map((id) => readById(db.accounts, id)));
    expect(found.map((one) => one?._id)).to.deep.equal([...people.map(({ id }) => id), undefined]);
    expect(commands.filter((name) => name === 'find')).to.have.length(1);
    await db.accounts.updateOne({ _id: people[0]?.id as string }, { displayName: 'renamed' });
    expect((await readById(db.accounts, people[0]?.id as string))?.displayName).to.equal('renamed');
  });
});
