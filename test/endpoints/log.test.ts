import { expect } from 'chai';
import type { EndpointDelivery, EndpointDeliveryPage } from '../../lib/contract/endpoint.ts';
import type { Me } from '../../lib/contract/user.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { expectError } from '../harness/expect-error.ts';
import { type Bot, makeApplication, makePerson, unknownId } from '../harness/factories.ts';
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
    for (let at = 0; at < docs.length; at += 5_000)
      await api.platform.db.interactions.insertMany(docs.slice(at, at + 5_000), { ordered: false });
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
    it(`answers 400 invalid_request to ?${query}`, async () => {
      const bot = await makeApplication(api, owner);
      expectError(await api.call('GET', path(bot, `?${query}`), { as: owner.as }), 400, 'invalid_request');
    });

  it('lists deliveries with an outcome and, as failed, those of a killed worker; omits pending ones and the gateway', async () => {
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
      reason: 'the outcome is unknown because of a failure of the service',
    });
  });

  it('answers 403 not_owner, 403 bots_not_allowed, 404 and 401', async () => {
    const [bot, other] = [await makeApplication(api, owner, 'seen', true), await makePerson(api)];
    await put(stored(bot, 1));
    await refused(api, [403, 'not_owner'], other, 'GET', path(bot));
    await refused(api, [403, 'bots_not_allowed'], bot, 'GET', path(bot));
    await refused(api, [401, 'unauthorized'], null, 'GET', path(bot));
    for (const applicationId of [unknownId, 'x']) await refused(api, [404, 'not_found'], owner, 'GET', path({ ...bot, applicationId }));
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    await refused(api, [404, 'not_found'], owner, 'GET', path(bot));
  });

  it('lists no deliveries of another application, even of the same owner', async () => {
    const [one, two] = [await makeApplication(api, owner), await makeApplication(api, owner)];
    const ids = await put([...stored(one, 3), ...stored(two, 3)]);
    expect((await page(one)).items.map(({ id }) => id)).to.deep.equal(ids.slice(0, 3).toReversed());
    expect((await page(two)).items.map(({ id }) => id)).to.deep.equal(ids.slice(3).toReversed());
    expect((await page(one, `?before=${ids[5]}`)).items.map(({ id }) => id)).to.deep.equal(ids.slice(0, 3).toReversed());
  });
});
