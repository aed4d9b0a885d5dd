import { expect } from 'chai';
import { readMember } from '../../lib/domain/access/memberships.ts';
import { readById, readByIds } from '../../lib/store/mongo/batched-reads.ts';
import { startMonitoredApi } from '../harness/api.ts';
import { makePeople, makeServers } from '../harness/seed.ts';
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

  it('reads a list with one query per 125 ids, in its order and without those that are unknown', async () => {
    const { commands, platform } = api;
    const people = (await makePeople(platform, 2)).map(({ id }) => id);
    commands.length = 0;
    const unknown = Array.from({ length: 124 }, (_, n) => `unknown${n}`);
    const found = await readByIds(platform.db.accounts, [people[1] as string, ...unknown, people[0] as string]);
    expect(found.map(({ _id }) => _id)).to.deep.equal([people[1], people[0]]);
    expect(commands.filter((name) => name === 'find')).to.have.length(2);
  });

  it('reads members of several servers, which are sharded by server, with one query', async () => {
    const { commands, platform } = api;
    const people = await makePeople(platform, 2);
    const servers = await makeServers(
      platform,
      people.map(({ id }) => [{ id, bot: false }]),
    );
    const pairs = servers.flatMap(({ serverId }) => people.map(({ id }) => ({ serverId, id })));
    commands.length = 0;
    const found = await Promise.all(pairs.map(({ serverId, id }) => readMember(platform, serverId, id)));
    expect(found.map((one) => one?.userId)).to.deep.equal([people[0]?.id, undefined, undefined, people[1]?.id]);
    expect(commands.filter((name) => name === 'find')).to.have.length(1);
  });
});
