import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { makeWorld, type World } from '../../harness/world.ts';

describe('POST /api/channels/{channelId}/threads: how many in a minute', () => {
  let api: TestApi;
  let world: World;
  before(async () => {
    api = await startTestApi({ RATE_LIMIT: '100000/100000' });
    world = await makeWorld(api.platform, { bots: 7, channels: 2 });
  });
  after(() => api.close());

  const make = (channel: number, slot: number) =>
    api.call('POST', `/api/channels/${world.channelIds[channel]}/threads`, { as: `Bot ${world.bots[slot]?.token}`, body: { name: 'a' } });
  const several = async (count: number, channel: number, slot: number): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: count }, () => make(channel, slot)));
    for (const { status, body, headers } of answers.filter((one) => one.status !== 201))
      expect([status, body.code, Number(headers.get('retry-after')) > 0]).to.deep.equal([429, 'rate_limited', true]);
    return answers.filter(({ status }) => status === 201).length;
  };
  // What comes back while the calls run: at most one in six seconds, or one a second.
  const slack = 3;

  it('429 after ten of one account in a channel; others and other channels are not affected', async () => {
    expect(await several(30, 0, 0)).to.be.within(limits.threadsPerMinute, limits.threadsPerMinute + slack);
    expect((await make(0, 1)).status).to.equal(201);
    expect((await make(1, 0)).status).to.equal(201);
  });

  it('429 after sixty in a server, whoever makes them', async () => {
    for (let slot = 1; slot < 7; slot++) await several(15, 1, slot);
    expect((await several(10, 0, 6)) + (await several(10, 0, 5))).to.be.below(20);
    expect(await api.platform.db.channels.countDocuments({ kind: 'thread' })).to.be.at.most(limits.threadsPerServerPerMinute + 20);
  });
});
