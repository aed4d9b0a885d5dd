import { expect } from 'chai';
import { readById } from '../../lib/store/mongo/batched-reads.ts';
import { startMonitoredApi } from '../harness/api.ts';
import { makePeople } from '../harness/seed.ts';
import { use } from '../harness/use.ts';

describe('batched reads', () => {
  const api = use(startMonitoredApi);

  it('reads ids requested in one turn of the event loop with one query, returns null for an unknown id, and reads again in a later turn', async () => {
    const { commands, platform } = api;
    const { db } = platform;
    const people = await makePeople(platform, 3);
    commands.length = 0;
    const ids = [...people.map(({ id }) => id), 'unknown'];
    const found = await Promise.all(ids.map((id) => readById(db.accounts, id)));
    expect(found.map((one) => one?._id)).to.deep.equal([...people.map(({ id }) => id), undefined]);
    expect(commands.filter((name) => name === 'find')).to.have.length(1);
    await db.accounts.updateOne({ _id: people[0]?.id as string }, { $set: { displayName: 'renamed' } });
    expect((await readById(db.accounts, people[0]?.id as string))?.displayName).to.equal('renamed');
  });
});
