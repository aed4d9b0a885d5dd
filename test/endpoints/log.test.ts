import { expect } from 'chai';
import type { EndpointDelivery, EndpointDeliveryPage } from '../../lib/contract/endpoint.ts';
import type { Me } from '../../lib/contract/user.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { type Bot, makeApplication, unknownId } from '../harness/factories.ts';
import { refused, send } from '../harness/requests.ts';
import { useServer } from '../harness/use.ts';

const answered = { status: 200, ms: 12, outcome: 'answered', reason: null } as const;
const minuteMs = 60_000;

describe('GET /api/applications/{applicationId}/deliveries', () => {
  const { api, owner } = useServer();

  const path = ({ applicationId }: Bot, query = ''): string => `/api/applications/${applicationId}/deliveries${query}`;
  const page = (bot: Bot, query?: string): Promise<EndpointDeliveryPage> => send(api, 200, owner, 'GET', path(bot, query));

  /** Builds sent interactions of an application, oldest first. `more` changes the fields of each. */
  const stored = (
    { applicationId, id: botId }: Pick<Bot, 'applicationId' | 'id'>,
    count: number,
    more: (at: number) => Partial<InteractionDoc> = () => ({}),
  ) =>
    Array.from(
      { length: count },
      (_, at): InteractionDoc => ({
        _id: api.platform.ids.next(),
        applicationId,
        botId,
        channelId: unknownId,
        serverId: null,
        userId: owner.id,
        userRoles: [],
        command: { id: unknownId, name: 'hello' },
        options: [],
        state: 'answered',
        createdAt: new Date(Date.now() - minuteMs),
        openedAt: null,
        ephemeral: false,
        messageId: null,
        endpoint: true,
        deliveredAt: new Date(Date.now() - minuteMs),
        delivery: answered,
        ...more(at),
      }),
    );
  const put = async (docs: InteractionDoc[]): Promise<string[]> => {
    await api.platform.db.interactions.insertMany(docs, { ordered: false });
    return docs.map(({ _id }) => _id);
  };

  it('returns { items, hasMore } with every stored outcome, newest first', async () => {
    const bot = await makeApplication(api, owner);
    expect(await page(bot)).to.deep.equal({ items: [], hasMore: false });
    const outcomes: Omit<EndpointDelivery, 'id' | 'interactionId' | 'command' | 'user' | 'at' | 'messageId'>[] = [
      answered,
      { status: 200, ms: 0, outcome: 'deferred', reason: null },
      { status: 200, ms: 2999, outcome: 'empty', reason: null },
      { status: 500, ms: 3, outcome: 'failed', reason: 'status: is 500; only 200 is accepted' },
      { status: null, ms: 3000, outcome: 'failed', reason: 'connect: timed out' },
    ];
    const docs = stored(bot, outcomes.length, (at) => ({
      delivery: outcomes[at] as typeof answered,
      deliveredAt: new Date(1.75e12 + at),
      messageId: at === 0 ? unknownId : null,
    }));
    await put(docs);
    const { id: userId, username, displayName, avatarUrl } = await send<Me>(api, 200, owner, 'GET', '/api/auth/me');
    const user = { id: userId, username, displayName, avatarUrl };
    const items = docs.map(({ _id: id, deliveredAt, messageId }, at) => {
      return { id, interactionId: id, command: 'hello', user, at: deliveredAt?.toISOString(), ...outcomes[at], messageId };
    });
    expect(await page(bot)).to.deep.equal({ items: items.toReversed(), hasMore: false });
  });

  it('lists the last 100 of 105, in pages by before and limit, with hasMore', async () => {
    const bot = await makeApplication(api, owner);
    const ids = (await put(stored(bot, 105))).toReversed();
    const listPage = async (query?: string): Promise<[ids: string[], hasMore: boolean]> => {
      const { items, hasMore } = await page(bot, query);
      return [items.map(({ id }) => id), hasMore];
    };
    expect(await listPage()).to.deep.equal([ids.slice(0, 50), true]);
    expect(await listPage('?limit=100')).to.deep.equal([ids.slice(0, 100), false]);
    expect(await listPage('?limit=99')).to.deep.equal([ids.slice(0, 99), true]);
    expect(await listPage('?limit=1')).to.deep.equal([ids.slice(0, 1), true]);
    expect(await listPage(`?before=${ids[49]}`)).to.deep.equal([ids.slice(50, 100), false]);
    expect(await listPage(`?before=${ids[48]}`)).to.deep.equal([ids.slice(49, 99), true]);
    expect(await listPage(`?before=${ids[98]}&limit=1`)).to.deep.equal([ids.slice(99, 100), false]);
    expect(await listPage(`?before=${ids[97]}&limit=1`)).to.deep.equal([ids.slice(98, 99), true]);
    for (const last of [99, 100, 104]) expect(await listPage(`?before=${ids[last]}`)).to.deep.equal([[], false]);
    expect(await listPage(`?before=${unknownId}`)).to.deep.equal([[], false]);
    expect(await listPage('?before=9999999999999999999&limit=2')).to.deep.equal([ids.slice(0, 2), true]);
    const walked: string[] = [];
    for (let more = true, before = ''; more; ) {
      const [part, hasMore] = await listPage(`?limit=7${before}`);
      walked.push(...part);
      [more, before] = [hasMore, `&before=${part.at(-1)}`];
    }
    expect(walked).to.deep.equal(ids.slice(0, 100));
  });

  it('answers 400 invalid_request to invalid queries', async () => {
    const bot = await makeApplication(api, owner);
    for (const query of ['limit=0', 'limit=101', 'limit=-1', 'before=', 'before=1', `before=${unknownId}0`, 'before[$ne]=x&before=x'])
      await refused(api, [400, 'invalid_request'], owner, 'GET', path(bot, `?${query}`));
  });

  it('lists deliveries with an outcome and, as failed, those of a killed worker; omits pending ones and the gateway', async () => {
    const bot = await makeApplication(api, owner);
    const withoutOutcome = (more: Partial<InteractionDoc>): InteractionDoc[] =>
      stored(bot, 1, () => more).map(({ delivery: _none, ...one }) => one);
    const [lost, done] = await put([
      ...withoutOutcome({ deliveredAt: new Date(Date.now() - minuteMs), state: 'expired' }),
      ...stored(bot, 1, () => ({ deliveredAt: new Date() })),
      ...withoutOutcome({ deliveredAt: null, state: 'created' }),
      ...withoutOutcome({ deliveredAt: new Date(Date.now() + minuteMs), state: 'created' }),
      ...stored(bot, 1, () => ({ endpoint: false, deliveredAt: null })),
    ]);
    const { items } = await page(bot);
    expect(items.map(({ id }) => id)).to.deep.equal([done, lost]);
    expect(items[1]).to.deep.include({
      status: null,
      outcome: 'failed',
      reason: 'the outcome is unknown because of a failure of the service',
    });
  });

  it('lists no deliveries of another application, even of the same owner', async () => {
    const [one, two] = [await makeApplication(api, owner), await makeApplication(api, owner)];
    const ids = await put([...stored(one, 3), ...stored(two, 3)]);
    expect((await page(one)).items.map(({ id }) => id)).to.deep.equal(ids.slice(0, 3).toReversed());
    expect((await page(two)).items.map(({ id }) => id)).to.deep.equal(ids.slice(3).toReversed());
    expect((await page(one, `?before=${ids[5]}`)).items.map(({ id }) => id)).to.deep.equal(ids.slice(0, 3).toReversed());
  });

  it('reads the newest 100 from its index, among 5,000 of the application and 50,000 of others', async () => {
    const own = await makeApplication(api, owner);
    const others = Array.from({ length: 10 }, () => ({ ...own, applicationId: api.platform.ids.next() }));
    for (let half = 0; half < 2; half++) for (const bot of [own, ...others]) await put(stored(bot, 2_500));
    // Records the query of the route, to explain its plan.
    const collection = api.platform.db.interactions;
    const find = collection.find.bind(collection);
    const cursors: { clone(): { explain(): Promise<unknown> } }[] = [];
    Object.assign(collection, {
      find: (...args: Parameters<typeof find>) => {
        const cursor = find(...args);
        cursors.push(cursor);
        return cursor;
      },
    });
    const { items, hasMore } = await page(own, '?limit=100');
    Object.assign(collection, { find });
    const newest = await find({ applicationId: own.applicationId }).sort({ _id: -1 }).limit(100).toArray();
    expect([items.map(({ id }) => id), hasMore]).to.deep.equal([newest.map(({ _id }) => _id), false]);
    expect(cursors).to.have.length(1);
    const plan = JSON.stringify(await cursors[0]?.clone().explain());
    expect(plan)
      .to.match(/"deliveries"/)
      .and.not.match(/"Node Type":"Sort"|"stage":"SORT"/);
  }).timeout(180_000);
});
