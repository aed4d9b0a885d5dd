import { expect } from 'chai';
import { makePerson } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { startParlance } from '../../harness/parlance.ts';
import { use } from '../../harness/use.ts';
import { requestExport } from './export-fixture.ts';

describe('exports in the queue', () => {
  const api = use(() => startParlance());
  it('a worker makes those that were requested, and those whose job was lost', async () => {
    const [first, second] = [await makePerson(api), await makePerson(api)];
    const { id } = await requestExport(api, first);
    const isReady = async (accountId: string): Promise<boolean> =>
      (await api.platform.db.exports.findOne({ accountId }))?.state === 'ready';
    await waitUntil(() => isReady(first.id), 'the requested export is ready');
    const lost = (await api.platform.db.exports.findOne({ _id: id })) ?? expect.fail();
    const { announced: _, ...plain } = lost;
    await api.platform.db.exports.insertOne({
      ...plain,
      _id: api.platform.ids.next(),
      accountId: second.id,
      key: 'c'.repeat(32),
      state: 'waiting',
      attempts: 0,
      parts: [],
      dueAt: new Date(1_000),
    });
    await waitUntil(() => isReady(second.id), 'the export whose job was lost is ready');
  });
});
