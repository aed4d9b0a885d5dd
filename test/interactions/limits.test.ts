import { expect } from 'chai';
import type { Answer } from '../harness/api.ts';
import { type InteractionFixture, startInteractionFixture } from '../harness/interaction-fixture.ts';
import { bucketOf, inParallel, tally } from '../harness/requests.ts';

describe('Interaction: rate limits', () => {
  /** Runs `act` with a fixture under this RATE_LIMIT. */
  const withRateLimit = async (rateLimit: string, act: (fixture: InteractionFixture) => Promise<void>): Promise<void> => {
    const fixture = await startInteractionFixture({ RATE_LIMIT: rateLimit });
    try {
      await act(fixture);
    } finally {
      await fixture.close();
    }
  };
  const message = { type: 'message', content: 'x' };

  const content = 'more';
  const edit = ({ api, tokenOf }: InteractionFixture, id: string): Promise<Answer> =>
    api.call('PATCH', `/api/interactions/${id}/${tokenOf(id)}/original`, { body: { content } });
  for (const [what, send] of [
    ['follow-ups', (fixture: InteractionFixture, id: string) => fixture.send('followup', id, { content })],
    ['edits of the original', edit],
  ] as const)
    it(`${what}: an interaction allows a burst of 5 and answers 429 rate_limited to the others, without the callback`, () =>
      withRateLimit('100/100', async (fixture) => {
        const id = await fixture.use();
        const callback = await fixture.send('callback', id, message);
        expect([callback.status, bucketOf(callback)]).to.deep.equal([201, null]);
        const began = performance.now();
        const answers = await inParallel(40, () => send(fixture, id));
        const refilled = Math.ceil((performance.now() - began) / 1000);
        const passed = answers.filter(({ status }) => status < 300);
        expect(passed.length).to.be.within(5, 5 + refilled);
        expect(tally(answers)[429]).to.equal(40 - passed.length);
        for (const { status, headers, body } of answers) {
          expect([bucketOf({ headers }), headers.get('X-RateLimit-Limit')]).to.deep.equal(['interaction', '5']);
          if (status === 429) expect([body.code, Number(headers.get('Retry-After')) > 0]).to.deep.equal(['rate_limited', true]);
        }
        const other = await fixture.use();
        await fixture.send('callback', other, message);
        expect((await send(fixture, other)).status).to.be.lessThan(300);
      }));

  it('do not apply to callbacks, unlike other routes without a login', () =>
    withRateLimit('1/5', async (fixture) => {
      const id = await fixture.use();
      expect(tally(await inParallel(20, () => fixture.send('callback', id, message)))).to.deep.equal({ 201: 1, 409: 19 });
      expect(tally(await inParallel(20, () => fixture.api.call('GET', '/api/gateway')))).to.include.keys('429');
    }));

  it('all interactions of an application share its bucket, which never refuses a callback', () =>
    withRateLimit('1/8', async (fixture) => {
      const ids: string[] = [];
      for (let n = 0; n < 4; n++) ids.push(await fixture.use());
      const [last = '', ...others] = ids;
      for (const id of others) expect((await fixture.send('callback', id, message)).status).to.equal(201);
      const began = performance.now();
      const answers = await inParallel(15, (n) => fixture.send('followup', others[n % 3] as string, { content: 'more' }));
      const refilled = Math.ceil((performance.now() - began) / 1000);
      expect(tally(answers)[201]).to.be.within(8, 8 + refilled);
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.map(bucketOf)).to.include('application');
      expect((await fixture.send('callback', last, message)).status).to.equal(201);
    }));
});
