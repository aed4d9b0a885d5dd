import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import { startTestApi } from '../../harness/api.ts';
import { inParallel } from '../../harness/requests.ts';
import { seedServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

describe('rate limits of POST /api/channels/{channelId}/threads', () => {
  const api = use(() => startTestApi({ RATE_LIMIT: '100000/100000' }));
  const seeded = make(() => seedServer(api.platform, { bots: 7, channels: 2 }));

  const create = (channel: number, slot: number) =>
    api.call('POST', `/api/channels/${seeded.channelIds[channel]}/threads`, { as: `Bot ${seeded.bots[slot]?.token}`, body: { name: 'a' } });
  /** Makes `count` threads at once as one bot; returns how many were made. */
  const createMany = async (count: number, channel: number, slot: number): Promise<number> => {
    const answers = await inParallel(count, () => create(channel, slot));
    for (const { status, body, headers } of answers.filter((one) => one.status !== 201))
      expect([status, body.code, Number(headers.get('retry-after')) > 0]).to.deep.equal([429, 'rate_limited', true]);
    return answers.filter(({ status }) => status === 201).length;
  };
  // What the buckets regain while the calls run: at most one in six seconds for the account, one a second for the server.
  const slack = 3;

  it('429 after ten of one account in a channel, not for other accounts and channels', async () => {
    expect(await createMany(30, 0, 0)).to.be.within(limits.threadsPerMinute, limits.threadsPerMinute + slack);
    expect((await create(0, 1)).status).to.equal(201);
    expect((await create(1, 0)).status).to.equal(201);
  });

  it('429 after sixty of all accounts in a server', async () => {
    for (let slot = 1; slot < 7; slot++) await createMany(15, 1, slot);
    expect((await createMany(10, 0, 6)) + (await createMany(10, 0, 5))).to.be.below(20);
    expect(await api.platform.db.channels.countDocuments({ kind: 'thread' })).to.be.at.most(limits.threadsPerServerPerMinute + 20);
  });
});
