import { expect } from 'chai';
import type { EndpointDeliveryPage } from '../../lib/contract/endpoint.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { startTestApi } from '../harness/api.ts';
import { makeApplication, makePerson } from '../harness/factories.ts';
import { send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';

describe('GET /api/applications/{applicationId}/deliveries with many deliveries', () => {
  const api = use(startTestApi);

  it('reads the newest 100 from its index, among 5,000 of the application and 50,000 of others', async () => {
    const { db, ids } = api.platform;
    const owner = await makePerson(api);
    const own = await makeApplication(api, owner);
    const others = Array.from({ length: 10 }, () => ids.next());
    const sent = (applicationId: string) =>
      ({
        _id: ids.next(),
        applicationId,
        endpoint: true,
        state: 'answered',
        command: { name: 'hello' },
        userId: owner.id,
        messageId: null,
        createdAt: new Date(),
        deliveredAt: new Date(Date.now() - 60_000),
        delivery: { status: 200, ms: 1, outcome: 'answered', reason: null },
      }) as InteractionDoc;
    const put = (docs: InteractionDoc[]) => db.interactions.insertMany(docs, { ordered: false });
    for (let half = 0; half < 2; half++) {
      await put(Array.from({ length: 2_500 }, () => sent(own.applicationId)));
      for (const other of others) await put(Array.from({ length: 2_500 }, () => sent(other)));
    }
    // Records the query of the route, to explain its plan.
    const collection = db.interactions;
    const find = collection.find.bind(collection);
    const cursors: { clone(): { explain(): Promise<unknown> } }[] = [];
    Object.assign(collection, {
      find: (...args: Parameters<typeof find>) => {
        const cursor = find(...args);
        cursors.push(cursor);
        return cursor;
      },
    });
    const path = `/api/applications/${own.applicationId}/deliveries?limit=100`;
    const { items, hasMore } = await send<EndpointDeliveryPage>(api, 200, owner, 'GET', path);
    const newest = await find({ applicationId: own.applicationId }).sort({ _id: -1 }).limit(100).toArray();
    expect([items.map(({ id }) => id), hasMore]).to.deep.equal([newest.map(({ _id }) => _id), false]);
    expect(cursors).to.have.length(1);
    const plan = JSON.stringify(await cursors[0]?.clone().explain());
    expect(plan)
      .to.match(/"deliveries"/)
      .and.not.match(/"Node Type":"Sort"|"stage":"SORT"/);
  }).timeout(180_000);
});
