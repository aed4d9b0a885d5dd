import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { makeChannel } from '../../harness/factories.ts';
import { bucketOf, type Caller, inParallel, send } from '../../harness/requests.ts';
import { botOf, ownerOf, seedServer } from '../../harness/seed.ts';
import { make, newBot, newMember, use, useServer } from '../../harness/use.ts';

describe('the rate limit of posts in a channel', () => {
  // In a channel, people may post 12 at once and 5 more a second, bots 50 and 25.
  const fixture = useServer({ member: newMember(), bot: newBot() }, { start: () => startTestApi({ RATE_LIMIT: '50/10' }) });
  const { api, owner, server } = fixture;
  const post = (caller: Caller, channelId: string): Promise<Answer> =>
    api.call('POST', `/api/channels/${channelId}/messages`, { as: caller.as, body: { content: 'x' } });

  /** Posts until the channel's bucket refuses. When the caller's bucket refuses before, waits for it. */
  async function postUntilRefused(caller: Caller, channelId: string): Promise<{ posted: number; refused: Answer }> {
    for (let posted = 0; posted < 400; ) {
      const answers = await inParallel(5, () => post(caller, channelId));
      posted += answers.filter(({ status }) => status === 201).length;
      const refused = answers.find((answer) => bucketOf(answer) === 'channel');
      if (refused) return { posted, refused };
      await pause(50);
    }
    return expect.fail('no post was refused');
  }

  for (const [who, burst] of [
    ['member', 12],
    ['bot', 50],
  ] as const)
    it(`a ${who} may post ${burst} messages at once in one channel, and is told how long to wait`, async () => {
      const caller = fixture[who];
      const [one, other] = [await makeChannel(api, owner, server.id), await makeChannel(api, owner, server.id)];
      const { posted, refused } = await postUntilRefused(caller, one.id);
      expect(posted).to.be.at.least(burst);
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'rate_limited']);
      expect(refused.headers.get('X-RateLimit-Limit')).to.equal(String(burst));
      expect(refused.headers.get('X-RateLimit-Remaining')).to.equal('0');
      expect(Number(refused.body.retryAfter)).to.be.above(0);
      const stored = await api.platform.db.messages.countDocuments({ channelId: one.id, authorId: caller.id });
      expect(stored).to.equal(posted);
      await pause(200); // for the caller's own bucket
      expect((await post(caller, other.id)).status).to.equal(201);
      expect((await post(owner, one.id)).status).to.equal(201);
    });
});

describe('the rate limit of all bots of a person', () => {
  // All bots of a person together may send 50 at once and 5 more a second.
  const api = use(() => startTestApi({ RATE_LIMIT: '1/10' }));
  const seeded = make(() => seedServer(api.platform, { bots: 12, channels: 1 }));

  it('12 bots share it, and their owner has a bucket of its own', async () => {
    const began = performance.now();
    const answers = await inParallel(96, (at) => api.call('GET', '/api/auth/me', { as: `Bot ${botOf(seeded, at % 12).token}` }));
    const regained = Math.ceil(((performance.now() - began) / 1000) * 5);
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(passed).to.be.within(50, 50 + regained);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused && [bucketOf(refused), refused.headers.get('X-RateLimit-Limit'), refused.body.code]).to.deep.equal([
      'owner',
      '50',
      'rate_limited',
    ]);
    await send(api, 200, ownerOf(seeded), 'GET', '/api/auth/me');
  });
});
