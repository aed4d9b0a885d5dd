import { expect } from 'chai';
import type { DeliveryPage } from '../../lib/contract/endpoint.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makeApplication, makePerson, send } from '../harness/factories.ts';

describe('GET /api/applications/{id}/deliveries among very many', () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it('reads its own newest 100 in the order of its index, beside 50,000 of others and 5,000 of its own', async () => {
    const { db, ids } = api.platform;
    const owner = await makePerson(api);
    const own = await makeApplication(api, owner);
    const others = Array.from({ length: 10 }, () => ids.next());
    const sent = (applicationId: string) => ({
      _id: ids.next(),
      applicationId,
      endpoint: true,
      state: 'answered',
      createdAt: new Date(),
      deliveredAt: new Date(Date.now() - 60_000),
      delivery: { status: 200, ms: 1, outcome: 'answered', reason: null },
    });
    const put = (docs: object[]) => db.interactions.collection.insertMany(docs, { ordered: false });
    for (let half = 0; half < 2; half++) {
      await put(Array.from({ length: 2_500 }, () => sent(own.applicationId)));
      for (const other of others) await put(Array.from({ length: 2_500 }, () => sent(other)));
    }
    // The query that the route makes, as the database plans it.
    const { collection } = db.interactions;
    const find = collection.find.bind(collection);
    const made: { clone(): { explain(): Promise<unknown> } }[] = [];
    Object.assign(collection, {
      find: (...args: Parameters<typeof find>) => {
        const cursor = find(...args);
        made.push(cursor);
        return cursor;
      },
    });
    const { items, hasMore } = await send<DeliveryPage>(
      api,
      200,
      owner,
      'GET',
      `/api/applications/${own.applicationId}/deliveries?limit=100`,
    );
    const newest = await find({ applicationId: own.applicationId }).sort({ _id: -1 }).limit(100).toArray();
    expect([items.map(({ id }) => id), hasMore]).to.deep.equal([newest.map(({ _id }) => String(_id)), false]);
    expect(made).to.have.length(1);
    const plan = JSON.stringify(await made[0]?.clone().explain());
    expect(plan)
      .to.match(/"deliveries"/)
      .and.not.match(/"Node Type":"Sort"|"stage":"SORT"/);
  }).timeout(180_000);
});
