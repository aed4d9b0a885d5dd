import { expect } from 'chai';
import type { Answer } from '../harness/api.ts';
import { tally } from '../harness/factories.ts';
import { type Scene, startScene } from '../harness/scene.ts';

const times = (count: number, run: (n: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => run(n)));
const bucketOf = ({ headers }: Answer): string | null => headers.get('X-RateLimit-Bucket');

describe('limits on follow-ups', () => {
  /** Runs `act` where callers, and applications, have so many requests at once. */
  const under = async (rateLimit: string, act: (scene: Scene) => Promise<void>): Promise<void> => {
    const scene = await startScene({ RATE_LIMIT: rateLimit });
    try {
      await act(scene);
    } finally {
      await scene.close();
    }
  };
  const message = { type: 'message', content: 'x' };

  for (const [what, send] of [
    ['follow-ups', (scene: Scene, id: string) => scene.send('followup', id, { content: 'more' })],
    [
      'changes of the original',
      (scene: Scene, id: string) =>
        scene.api.call('PATCH', `/api/interactions/${id}/${scene.tokenOf(id)}/original`, { body: { content: 'changed' } }),
    ],
  ] as const)
    it(`${what}: 5 of an interaction pass at once, the others are 429 rate_limited; the callback is not counted`, () =>
      under('100/100', async (scene) => {
        const id = await scene.use();
        const callback = await scene.send('callback', id, message);
        expect([callback.status, bucketOf(callback)]).to.deep.equal([201, null]);
        const began = performance.now();
        const answers = await times(40, () => send(scene, id));
        const refilled = Math.ceil((performance.now() - began) / 1000);
        const passed = answers.filter(({ status }) => status < 300);
        expect(passed.length).to.be.within(5, 5 + refilled);
        expect(tally(answers)[429]).to.equal(40 - passed.length);
        for (const { status, headers, body } of answers) {
          expect([headers.get('X-RateLimit-Bucket'), headers.get('X-RateLimit-Limit')]).to.deep.equal(['interaction', '5']);
          if (status === 429) expect([body.code, Number(headers.get('Retry-After')) > 0]).to.deep.equal(['rate_limited', true]);
        }
        const other = await scene.use();
        await scene.send('callback', other, message);
        expect((await send(scene, other)).status).to.be.lessThan(300);
      }));

  it('all interactions of an application share its bucket, and no callback is refused by it', () =>
    under('1/8', async (scene) => {
      const ids: string[] = [];
      for (let n = 0; n < 4; n++) ids.push(await scene.use());
      const [last = '', ...others] = ids;
      for (const id of others) expect((await scene.send('callback', id, message)).status).to.equal(201);
      const began = performance.now();
      const answers = await times(15, (n) => scene.send('followup', others[n % 3] as string, { content: 'more' }));
      const refilled = Math.ceil((performance.now() - began) / 1000);
      expect(tally(answers)[201]).to.be.within(8, 8 + refilled);
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.map(bucketOf)).to.include('application');
      expect((await scene.send('callback', last, message)).status).to.equal(201);
    }));
});
