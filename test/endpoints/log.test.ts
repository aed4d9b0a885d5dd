import { expect } from 'chai';
import type { Delivery, DeliveryPage } from '../../lib/contract/endpoint.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { expectError } from '../harness/expect-error.ts';
import { type Bot, type Caller, makeApplication, makePerson, refused, send } from '../harness/factories.ts';

const unknownId = '1000000000000000000';
const answered = { status: 200, ms: 12, outcome: 'answered', reason: null } as const;
const minuteMs = 60_000;

describe('GET /api/applications/{id}/deliveries', () => {
  let api: TestApi;
  let owner: Caller;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
  });
  after(() => api.close());

  const path = ({ applicationId }: Bot, query = ''): string => `/api/applications/${applicationId}/deliveries${query}`;
  const page = (bot: Bot, query?: string): Promise<DeliveryPage> => send(api, 200, owner, 'GET', path(bot, query));

  /** Interactions of an application that were sent, oldest first; `more` changes each. */
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
    for (let at = 0; at < docs.length; at += 5_000)
      await api.platform.db.interactions.collection.insertMany(docs.slice(at, at + 5_000) as never, { ordered: false });
    return docs.map(({ _id }) => _id);
  };

  it('{ items, hasMore } with every outcome as it was noted, newest first; empty at first', async () => {
    const bot = await makeApplication(api, owner);
    expect(await page(bot)).to.deep.equal({ items: [], hasMore: false });
    const noted: Omit<Delivery, 'id' | 'interactionId' | 'at'>[] = [
      answered,
      { status: 200, ms: 0, outcome: 'deferred', reason: null },
      { status: 200, ms: 2999, outcome: 'empty', reason: null },
      { status: 500, ms: 3, outcome: 'failed', reason: 'status: answered 500' },
      { status: null, ms: 3000, outcome: 'failed', reason: 'connect: timed out' },
    ];
    const docs = stored(bot, noted.length, (at) => ({ delivery: noted[at] as typeof answered, deliveredAt: new Date(1.75e12 + at) }));
    await put(docs);
    const items = docs.map(({ _id: id, deliveredAt }, at) => ({ id, interactionId: id, at: deliveredAt?.toISOString(), ...noted[at] }));
    expect(await page(bot)).to.deep.equal({ items: items.toReversed(), hasMore: false });
  });

  it('the last 100 of 105; pages by before and limit, and hasMore is true exactly while there are more of them', async () => {
    const bot = await makeApplication(api, owner);
    const ids = (await put(stored(bot, 105))).toReversed();
    const seen = async (query?: string): Promise<[ids: string[], hasMore: boolean]> => {
      const { items, hasMore } = await page(bot, query);
      return [items.map(({ id }) => id), hasMore];
    };
    expect(await seen()).to.deep.equal([ids.slice(0, 50), true]);
    expect(await seen('?limit=100')).to.deep.equal([ids.slice(0, 100), false]);
    expect(await seen('?limit=99')).to.deep.equal([ids.slice(0, 99), true]);
    expect(await seen('?limit=1')).to.deep.equal([ids.slice(0, 1), true]);
    expect(await seen(`?before=${ids[49]}`)).to.deep.equal([ids.slice(50, 100), false]);
    expect(await seen(`?before=${ids[48]}`)).to.deep.equal([ids.slice(49, 99), true]);
    expect(await seen(`?before=${ids[98]}&limit=1`)).to.deep.equal([ids.slice(99, 100), false]);
    expect(await seen(`?before=${ids[97]}&limit=1`)).to.deep.equal([ids.slice(98, 99), true]);
    for (const last of [99, 100, 104]) expect(await seen(`?before=${ids[last]}`)).to.deep.equal([[], false]);
    expect(await seen(`?before=${unknownId}`)).to.deep.equal([[], false]);
    expect(await seen('?before=9999999999999999999&limit=2')).to.deep.equal([ids.slice(0, 2), true]);
    const walked: string[] = [];
    for (let more = true, before = ''; more; ) {
      const [part, hasMore] = await seen(`?limit=7${before}`);
      walked.push(...part);
      [more, before] = [hasMore, `&before=${part.at(-1)}`];
    }
    expect(walked).to.deep.equal(ids.slice(0, 100));
  });

  for (const query of [
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=abc',
    'limit=',
    'limit=1.5',
    'limit=1e1',
    'limit=1&limit=2',
    'before=x',
    'before=',
    'before=1',
    `before=${unknownId}0`,
    `before=${unknownId}&before=${unknownId}`,
    'before[$ne]=x&before=x',
  ])
    it(`400 invalid_request for ?${query}`, async () => {
      const bot = await makeApplication(api, owner);
      expectError(await api.call('GET', path(bot, `?${query}`), { as: owner.as }), 400, 'invalid_request');
    });

  it('one that waits for its request, is under way, or went over the gateway is not in it; one whose outcome is known is, at once; one whose worker died is failed', async () => {
    const bot = await makeApplication(api, owner);
    const [lost, done] = await put([
      ...stored(bot, 1, () => ({ deliveredAt: new Date(Date.now() - minuteMs), state: 'expired' })).map(
        ({ delivery: _none, ...one }) => one,
      ),
      ...stored(bot, 1, () => ({ deliveredAt: new Date() })),
      ...stored(bot, 1, () => ({ deliveredAt: null, state: 'created' })).map(({ delivery: _none, ...one }) => one),
      ...stored(bot, 1, () => ({ deliveredAt: new Date(Date.now() + minuteMs), state: 'created' })).map(
        ({ delivery: _none, ...one }) => one,
      ),
      ...stored(bot, 1, () => ({ endpoint: false, deliveredAt: null })),
    ]);
    const { items } = await page(bot);
    expect(items.map(({ id }) => id)).to.deep.equal([done, lost]);
    expect(items[1]).to.deep.include({
      status: null,
      outcome: 'failed',
      reason: 'the outcome is unknown because a worker stopped or a store was unavailable',
    });
  });

  it('403 not_owner, 403 bots_not_allowed, 404, 401', async () => {
    const [bot, other] = [await makeApplication(api, owner, 'seen', true), await makePerson(api)];
    await put(stored(bot, 1));
    await refused(api, [403, 'not_owner'], other, 'GET', path(bot));
    await refused(api, [403, 'bots_not_allowed'], bot, 'GET', path(bot));
    await refused(api, [401, 'unauthorized'], null, 'GET', path(bot));
    for (const applicationId of [unknownId, 'x']) await refused(api, [404, 'not_found'], owner, 'GET', path({ ...bot, applicationId }));
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    await refused(api, [404, 'not_found'], owner, 'GET', path(bot));
  });

  it('another application’s never show, the caller’s own other one’s neither', async () => {
    const [one, two] = [await makeApplication(api, owner), await makeApplication(api, owner)];
    const ids = await put([...stored(one, 3), ...stored(two, 3)]);
    expect((await page(one)).items.map(({ id }) => id)).to.deep.equal(ids.slice(0, 3).toReversed());
    expect((await page(two)).items.map(({ id }) => id)).to.deep.equal(ids.slice(3).toReversed());
    expect((await page(one, `?before=${ids[5]}`)).items.map(({ id }) => id)).to.deep.equal(ids.slice(0, 3).toReversed());
  });
});
