import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { fetchPreviews } from '../../lib/domain/previews/previews.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { page, sendPage, startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';
import { startPreviewFixture } from './fixture.ts';

describe('fetch-previews: fairness between accounts', () => {
  const pending: ServerResponse[] = [];
  const fast = use(() => startSite((request, response) => sendPage(response, page(request.url ?? ''))), { each: true });
  const fixture = use(() => startPreviewFixture((_request, response) => void pending.push(response), [fast.pair]), { each: true });

  it('an account with slow pages gets half of the slots, and the message of another account gets its preview at once', async () => {
    const half = limits.previewsAtOnce / 2;
    const slow: string[] = [];
    for (let at = 0; at < half + 2; at++) slow.push((await fixture.post(`${fixture.site.url}/${at}`)).id);
    const other = await fixture.post(`${fast.url}/fast`, fixture.bot);
    const outcomes: (number | null)[] = [];
    const all = slow.map((id) => fetchPreviews(fixture.worker, id).then((leftMs) => void outcomes.push(leftMs)));
    await waitUntil(() => outcomes.length === 2, 'the jobs without a slot have returned');
    expect(outcomes).to.deep.equal([1_000, 1_000]);
    expect(await fetchPreviews(fixture.worker, other.id)).to.equal(null);
    expect((await fixture.read(other.id)).embeds).to.have.length(1);
    expect(outcomes, 'the slow jobs are still running').to.have.length(2);
    await waitUntil(() => {
      for (const response of pending.splice(0)) sendPage(response, page('slow'));
      return outcomes.length === slow.length;
    }, 'the slow jobs have finished');
    await Promise.all(all);
    const left = await Promise.all(slow.map(async (id) => (await fixture.stored(id)).previewsAt));
    expect(left.filter(Boolean), 'the messages without a slot still wait').to.have.length(2);
  });

  it('jobs alternate between accounts, and a message of an account with 100 waiting links gets no preview', async () => {
    const messages = limits.previewLinksWaiting / limits.previewsPerMessage + 1;
    const content = Array.from({ length: limits.previewsPerMessage }, (_, at) => `${fast.url}/${at}`).join(' ');
    const posted: string[] = [];
    for (let at = 0; at < messages; at++) posted.push((await fixture.post(content)).id);
    expect((await fixture.stored(posted.at(-1) ?? '')).previewsAt).to.equal(undefined);
    const other = await fixture.post(`${fast.url}/fast`, fixture.bot);
    await waitUntil(async () => (await fixture.worker.jobs.countWaiting('previews')) === messages, 'the jobs are queued');
    const started: string[] = [];
    const recordStart = async (_platform: unknown, { messageId }: { messageId: string }): Promise<void> => void started.push(messageId);
    const running = consumeJobs(fixture.worker, { 'fetch-previews': recordStart });
    await waitUntil(() => started.length === messages, 'the jobs have started');
    await running.close();
    expect(started.indexOf(other.id)).to.equal(1);
  });
});
