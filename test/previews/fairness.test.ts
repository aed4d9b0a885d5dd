import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { fetchPreviews } from '../../lib/domain/previews/previews.ts';
import { handlers } from '../../workers/handlers.ts';
import { type PreviewScene, page, sendPage, startPreviewScene } from '../harness/previews.ts';
import { until } from '../harness/scene.ts';
import { type Site, startSite } from '../harness/site.ts';

describe('fetch-previews: several accounts', () => {
  let scene: PreviewScene;
  let fast: Site;
  const held: ServerResponse[] = [];
  beforeEach(async () => {
    fast = await startSite((request, response) => sendPage(response, page(request.url ?? '')));
    scene = await startPreviewScene((_request, response) => void held.push(response), [fast.pair]);
  });
  afterEach(async () => {
    await scene.close();
    await fast.close();
  });

  it('one whose pages are slow takes half of the slots, and another’s message has its preview at once', async () => {
    const half = limits.previewsAtOnce / 2;
    const slow: string[] = [];
    for (let at = 0; at < half + 2; at++) slow.push((await scene.post({ content: `${scene.site.url}/${at}` })).id);
    const victim = await scene.post({ content: `${fast.url}/fast` }, scene.asBot);
    const outcomes: (number | null)[] = [];
    const all = slow.map((id) => fetchPreviews(scene.worker, id).then((leftMs) => void outcomes.push(leftMs)));
    await until(() => outcomes.length === 2, 'those without a slot');
    expect(outcomes).to.deep.equal([1_000, 1_000]);
    expect(await fetchPreviews(scene.worker, victim.id)).to.equal(null);
    expect((await scene.read(victim.id)).embeds).to.have.length(1);
    expect(outcomes, 'the slow ones go on').to.have.length(2);
    await until(() => {
      for (const response of held.splice(0)) sendPage(response, page('slow'));
      return outcomes.length === slow.length;
    }, 'the slow ones');
    await Promise.all(all);
    const left = await Promise.all(slow.map(async (id) => (await scene.stored(id)).previewsAt));
    expect(left.filter(Boolean), 'those without a slot come again').to.have.length(2);
  });

  it('take turns on the queue; where a hundred links of one account wait, its next message gets none', async () => {
    const messages = limits.previewLinksWaiting / limits.previewsPerMessage + 1;
    const content = Array.from({ length: limits.previewsPerMessage }, (_, at) => `${fast.url}/${at}`).join(' ');
    const posted: string[] = [];
    for (let at = 0; at < messages; at++) posted.push((await scene.post({ content })).id);
    expect((await scene.stored(posted.at(-1) ?? '')).previewsAt).to.equal(undefined);
    const victim = await scene.post({ content: `${fast.url}/fast` }, scene.asBot);
    await until(async () => (await scene.worker.waiting('previews')) === messages, 'the jobs');
    const began: string[] = [];
    const idle = Object.fromEntries(Object.keys(handlers).map((name) => [name, () => Promise.resolve()])) as unknown as typeof handlers;
    const note = async (_platform: unknown, { messageId }: { messageId: string }): Promise<void> => void began.push(messageId);
    const running = scene.worker.consume({ ...idle, 'fetch-previews': note }, () => undefined);
    await until(() => began.length === messages, 'the jobs');
    await running.close();
    expect(began.indexOf(victim.id)).to.equal(1);
  });
});
