import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { fetchPreviews, sweepPreviews } from '../../lib/domain/previews/previews.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { unknownId } from '../harness/factories.ts';
import { plainMessage } from '../harness/plain-message.ts';
import { refused } from '../harness/requests.ts';
import { page, sendPage } from '../harness/site.ts';
import { use } from '../harness/use.ts';
import { startPreviewFixture } from './fixture.ts';

describe('fetch-previews: edits, deletes and repeated runs', () => {
  /** Responses that the site has not sent yet, and what to call on the next request for one. */
  const pending: ServerResponse[] = [];
  let onRequest: (() => void) | null = null;
  const fixture = use(() =>
    startPreviewFixture((request, response) => {
      if (request.url?.startsWith('/held')) {
        pending.push(response);
        onRequest?.();
      } else sendPage(response, page(String(request.url)));
    }),
  );
  const link = (path: string): string => fixture.site.url + path;
  const shown = (path: string): object => ({ url: link(path), title: path });
  /** Runs the job and resolves after its request to the site; `release` sends the response and waits for the job. */
  const begin = async (id: string): Promise<{ release: () => Promise<void> }> => {
    const requested = new Promise<void>((resolve) => (onRequest = resolve));
    const job = fetchPreviews(fixture.worker, id);
    await requested;
    return {
      release: async () => {
        for (const response of pending.splice(0)) sendPage(response, page('held'));
        await job;
      },
    };
  };
  const outboxEvents = async (id: string): Promise<string[]> => ((await fixture.stored(id)).outbox ?? []).map(({ name }) => name);
  const previewed = async (content: string): Promise<string> => {
    const { id } = await fixture.post(content);
    await fetchPreviews(fixture.worker, id);
    return id;
  };

  it('adds the previews and one MESSAGE_UPDATE in one write', async () => {
    const id = await previewed(link('/one'));
    expect(await outboxEvents(id)).to.deep.equal(['MESSAGE_UPDATE']);
    expect(await fixture.stored(id)).to.deep.include({ previews: [shown('/one')], editedAt: null });
  });

  it('a second or concurrent run changes nothing more', async () => {
    const id = await previewed(link('/twice'));
    const before = await fixture.stored(id);
    await fetchPreviews(fixture.worker, id);
    expect(await fixture.stored(id)).to.deep.equal(before);
    const { id: other } = await fixture.post(link('/held?both'));
    const { release } = await begin(other);
    const second = fetchPreviews(fixture.worker, other);
    await release();
    await second;
    expect(await outboxEvents(other)).to.deep.equal(['MESSAGE_UPDATE']);
  });

  it('adds no event and only removes previewsAt when there is no preview', async () => {
    const { id } = await fixture.post('http://10.0.0.1/');
    expect((await fixture.stored(id)).previewsAt).to.be.instanceOf(Date);
    await fetchPreviews(fixture.worker, id);
    expect(await outboxEvents(id)).to.deep.equal([]);
    expect(await fixture.stored(id)).not.to.have.any.keys('previews', 'previewsAt');
  });

  it('discards previews of the old content after an edit during the request, and requests the new links', async () => {
    const { id } = await fixture.post(`${link('/held?edit')} old`);
    const { release } = await begin(id);
    await fixture.edit(id, { content: `new ${link('/after')}` });
    await release();
    const between = await fixture.stored(id);
    expect([between.content, between.previews]).to.deep.equal([`new ${link('/after')}`, undefined]);
    expect(between.previewsAt).to.be.instanceOf(Date);
    await fetchPreviews(fixture.worker, id);
    expect((await fixture.read(id)).embeds).to.deep.equal([shown('/after')]);
    expect(await outboxEvents(id)).to.deep.equal(['MESSAGE_UPDATE', 'MESSAGE_UPDATE']);
  });

  it('adds no preview after an edit removed the link during the request', async () => {
    const { id } = await fixture.post(link('/held?away'));
    const { release } = await begin(id);
    await fixture.edit(id, { content: 'no link' });
    await release();
    expect(await fixture.stored(id)).not.to.have.any.keys('previews', 'previewsAt');
    expect(await outboxEvents(id)).to.deep.equal(['MESSAGE_UPDATE']);
  });

  it('keeps both the edited embeds and the preview when only the embeds are edited during the request', async () => {
    const { id } = await fixture.post({ content: link('/held?embeds'), embeds: [{ title: 'old' }] }, fixture.bot);
    const { release } = await begin(id);
    await fixture.edit(id, { embeds: [{ title: 'new' }] }, fixture.bot);
    await release();
    expect((await fixture.read(id)).embeds).to.deep.equal([{ title: 'new' }, { url: link('/held?embeds'), title: 'held' }]);
  });

  it('changes nothing after the message was deleted during the request', async () => {
    const { id } = await fixture.post(link('/held?delete'));
    const { release } = await begin(id);
    await fixture.remove(id);
    const before = await fixture.stored(id);
    await release();
    expect(await fixture.stored(id)).to.deep.equal(before);
    expect(JSON.stringify(before)).not.to.contain(fixture.site.pair);
    await fetchPreviews(fixture.worker, fixture.worker.ids.next());
  });

  it('an edit drops previews of removed links, keeps the others and requests only new links', async () => {
    const id = await previewed(`${link('/a')} ${link('/b')}`);
    const swapped = await fixture.edit(id, { content: `${link('/b')} then ${link('/a')}` });
    expect(swapped.embeds).to.deep.equal([shown('/b'), shown('/a')]);
    expect((await fixture.stored(id)).previewsAt).to.equal(undefined);
    const fewer = await fixture.edit(id, { content: link('/b') });
    expect(fewer.embeds).to.deep.equal([shown('/b')]);
    const more = await fixture.edit(id, { content: `${link('/c')} ${link('/b')}` });
    expect(more.embeds).to.deep.equal([shown('/b')]);
    const before = fixture.site.asked.length;
    await fetchPreviews(fixture.worker, id);
    expect((await fixture.read(id)).embeds).to.deep.equal([shown('/c'), shown('/b')]);
    expect(fixture.site.asked.slice(before)).to.deep.equal(['/c']);
    expect((await fixture.edit(id, { content: `<${link('/b')}>` })).embeds).to.deep.equal([]);
    expect(await fixture.stored(id)).not.to.have.any.keys('previews', 'previewsAt');
  });

  it('PATCH {embeds: []} removes only rich embeds and keeps previews', async () => {
    const { id } = await fixture.post({ content: link('/rich'), embeds: [{ title: 'rich' }] }, fixture.bot);
    await fetchPreviews(fixture.worker, id);
    for (let time = 0; time < 2; time++)
      expect((await fixture.edit(id, { embeds: [] }, fixture.bot)).embeds).to.deep.equal([shown('/rich')]);
  });

  it('PATCH {content: ""}: 400 for a message with only previews; removes the previews of a message with a rich embed', async () => {
    const id = await previewed(link('/alone'));
    await refused(fixture.api, [400, 'invalid_request'], fixture.owner, 'PATCH', fixture.path(id), { content: '' });
    expect((await fixture.read(id)).embeds).to.deep.equal([shown('/alone')]);
    const { id: rich } = await fixture.post({ content: link('/beside'), embeds: [{ title: 'rich' }] }, fixture.bot);
    await fetchPreviews(fixture.worker, rich);
    expect((await fixture.edit(rich, { content: '' }, fixture.bot)).embeds).to.deep.equal([{ title: 'rich' }]);
    await refused(fixture.api, [400, 'invalid_request'], fixture.bot, 'PATCH', fixture.path(rich), { embeds: [] });
  });

  it('PATCH {} changes nothing, and the title of a page mentions nobody', async () => {
    const id = await previewed(`${link('/@everyone')} hi`);
    const before = await fixture.stored(id);
    await fixture.edit(id, {});
    expect(await fixture.stored(id)).to.deep.equal(before);
    expect((await fixture.read(id)).embeds).to.deep.equal([{ url: link('/@everyone'), title: '/\\@everyone' }]);
    expect(await fixture.read(id)).to.include({ mentionEveryone: false, editedAt: null });
  });

  it('the sweep enqueues jobs for previewsAt older than 10 s, at most 100, and no others', async () => {
    await fixture.api.platform.db.messages.updateMany({}, { $unset: { previewsAt: 1 } });
    const enqueued: unknown[] = [];
    const worker: WorkerPlatform = {
      ...fixture.worker,
      jobs: { ...fixture.worker.jobs, tryEnqueue: (name, data) => void enqueued.push([name, data]) },
    };
    const { id } = await fixture.post(link('/swept'));
    await sweepPreviews(worker);
    expect(enqueued).to.deep.equal([]);
    await fixture.api.platform.db.messages.updateOne({ _id: id }, { $set: { previewsAt: new Date(Date.now() - 10_500) } });
    await sweepPreviews(worker);
    expect(enqueued).to.deep.equal([['fetch-previews', { messageId: id, channelId: fixture.channelId }]]);
    const old = Array.from({ length: 110 }, () => ({ ...messageWithoutLink, _id: worker.ids.next(), channelId: fixture.channelId }));
    await fixture.api.platform.db.messages.insertMany(old);
    enqueued.length = 0;
    await sweepPreviews(worker);
    expect(enqueued).to.have.length(100);
    await fetchPreviews(fixture.worker, id);
    await Promise.all(old.map(({ _id }) => fetchPreviews(fixture.worker, _id)));
    enqueued.length = 0;
    await sweepPreviews(worker);
    expect(enqueued).to.deep.equal([]);
  });
});

/** A message with an old previewsAt and no link. */
const messageWithoutLink = {
  serverId: null,
  authorId: unknownId,
  content: 'none',
  ...plainMessage,
  createdAt: new Date(0),
  previewsAt: new Date(Date.now() - 60_000),
};
