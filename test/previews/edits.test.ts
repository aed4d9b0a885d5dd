import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { fetchPreviews, sweepPreviews } from '../../lib/domain/previews/previews.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { expectError } from '../harness/expect-error.ts';
import { plainMessage } from '../harness/plain-message.ts';
import { type PreviewScene, page, sendPage, startPreviewScene } from '../harness/previews.ts';

describe('fetch-previews: edits, deletes, repeats', () => {
  let scene: PreviewScene;
  /** Answers that the site holds back, and who waits for one to be asked for. */
  const held: ServerResponse[] = [];
  let asked: (() => void) | null = null;
  before(async () => {
    scene = await startPreviewScene((request, response) => {
      if (request.url?.startsWith('/held')) {
        held.push(response);
        asked?.();
      } else sendPage(response, page(String(request.url)));
    });
  });
  after(() => scene.close());
  const link = (path: string): string => scene.site.url + path;
  const shown = (path: string): object => ({ url: link(path), title: path });
  /** Runs the job and resolves once the site has been asked; `release` lets it answer and waits for the job. */
  const begin = async (id: string): Promise<{ release: () => Promise<void> }> => {
    const arrived = new Promise<void>((resolve) => (asked = resolve));
    const job = fetchPreviews(scene.worker, id);
    await arrived;
    return {
      release: async () => {
        for (const response of held.splice(0)) sendPage(response, page('held'));
        await job;
      },
    };
  };
  const owes = async (id: string): Promise<string[]> => ((await scene.stored(id)).ob ?? []).map(({ name }) => name);
  const previewed = async (content: string): Promise<string> => {
    const { id } = await scene.post({ content });
    await fetchPreviews(scene.worker, id);
    return id;
  };

  it('one write adds the previews and owes one MESSAGE_UPDATE', async () => {
    const id = await previewed(link('/one'));
    expect(await owes(id)).to.deep.equal(['MESSAGE_CREATE', 'MESSAGE_UPDATE']);
    expect(await scene.stored(id)).to.deep.include({ previews: [shown('/one')], editedAt: null });
  });

  it('run twice, or by two at once, changes nothing more', async () => {
    const id = await previewed(link('/twice'));
    const before = JSON.stringify(await scene.stored(id));
    await fetchPreviews(scene.worker, id);
    expect(JSON.stringify(await scene.stored(id))).to.equal(before);
    const { id: other } = await scene.post({ content: link('/held?both') });
    const { release } = await begin(other);
    const second = fetchPreviews(scene.worker, other);
    await release();
    await second;
    expect(await owes(other)).to.deep.equal(['MESSAGE_CREATE', 'MESSAGE_UPDATE']);
  });

  it('without a preview nothing is owed and only the mark goes', async () => {
    const { id } = await scene.post({ content: 'http://10.0.0.1/' });
    expect((await scene.stored(id)).previewsAt).to.be.instanceOf(Date);
    await fetchPreviews(scene.worker, id);
    expect(await owes(id)).to.deep.equal(['MESSAGE_CREATE']);
    expect(await scene.stored(id)).not.to.have.any.keys('previews', 'previewsAt');
  });

  it('an edit while the site is asked wins; its own links are looked at', async () => {
    const { id } = await scene.post({ content: `${link('/held?edit')} old` });
    const { release } = await begin(id);
    expect((await scene.edit(id, { content: `new ${link('/after')}` })).status).to.equal(200);
    await release();
    const between = await scene.stored(id);
    expect([between.content, between.previews]).to.deep.equal([`new ${link('/after')}`, undefined]);
    expect(between.previewsAt).to.be.instanceOf(Date);
    await fetchPreviews(scene.worker, id);
    expect((await scene.read(id)).embeds).to.deep.equal([shown('/after')]);
    expect(await owes(id)).to.deep.equal(['MESSAGE_CREATE', 'MESSAGE_UPDATE', 'MESSAGE_UPDATE']);
  });

  it('an edit that takes the link away while it is asked leaves none', async () => {
    const { id } = await scene.post({ content: link('/held?away') });
    const { release } = await begin(id);
    await scene.edit(id, { content: 'no link' });
    await release();
    expect(await scene.stored(id)).not.to.have.any.keys('previews', 'previewsAt');
    expect(await owes(id)).to.deep.equal(['MESSAGE_CREATE', 'MESSAGE_UPDATE']);
  });

  it('an edit of the embeds alone while it is asked keeps both', async () => {
    const { id } = await scene.post({ content: link('/held?embeds'), embeds: [{ title: 'old' }] }, scene.asBot);
    const { release } = await begin(id);
    await scene.edit(id, { embeds: [{ title: 'new' }] }, scene.asBot);
    await release();
    expect((await scene.read(id)).embeds).to.deep.equal([{ title: 'new' }, { url: link('/held?embeds'), title: 'held' }]);
  });

  it('a delete while it is asked wins', async () => {
    const { id } = await scene.post({ content: link('/held?delete') });
    const { release } = await begin(id);
    const path = `/api/channels/${scene.channelId}/messages/${id}`;
    expect((await scene.api.call('DELETE', path, { as: scene.asPerson })).status).to.equal(204);
    const before = JSON.stringify(await scene.stored(id));
    await release();
    expect(JSON.stringify(await scene.stored(id))).to.equal(before);
    expect(before).not.to.contain(scene.site.pair);
    await fetchPreviews(scene.worker, scene.worker.ids.next());
  });

  it('an edit drops previews of links that are gone, keeps the others, and asks only for new ones', async () => {
    const id = await previewed(`${link('/a')} ${link('/b')}`);
    const swapped = await scene.edit(id, { content: `${link('/b')} then ${link('/a')}` });
    expect(swapped.body.embeds).to.deep.equal([shown('/b'), shown('/a')]);
    expect((await scene.stored(id)).previewsAt).to.equal(undefined);
    const fewer = await scene.edit(id, { content: link('/b') });
    expect(fewer.body.embeds).to.deep.equal([shown('/b')]);
    const more = await scene.edit(id, { content: `${link('/c')} ${link('/b')}` });
    expect(more.body.embeds).to.deep.equal([shown('/b')]);
    const asks = scene.site.asked.length;
    await fetchPreviews(scene.worker, id);
    expect((await scene.read(id)).embeds).to.deep.equal([shown('/c'), shown('/b')]);
    expect(scene.site.asked.slice(asks)).to.deep.equal(['/c']);
    expect((await scene.edit(id, { content: `<${link('/b')}>` })).body.embeds).to.deep.equal([]);
    expect(await scene.stored(id)).not.to.have.any.keys('previews', 'previewsAt');
  });

  it('PATCH {embeds: []} takes rich embeds only; with nothing but links left they and their previews stay', async () => {
    const { id } = await scene.post({ content: link('/rich'), embeds: [{ title: 'rich' }] }, scene.asBot);
    await fetchPreviews(scene.worker, id);
    const answer = await scene.edit(id, { embeds: [] }, scene.asBot);
    expect([answer.status, answer.body.embeds]).to.deep.equal([200, [shown('/rich')]]);
    expect((await scene.edit(id, { embeds: [] }, scene.asBot)).body.embeds).to.deep.equal([shown('/rich')]);
  });

  it('PATCH {content: ""} that leaves previews only is 400; with a rich embed it takes them along', async () => {
    const id = await previewed(link('/alone'));
    expectError(await scene.edit(id, { content: '' }), 400, 'invalid_request');
    expect((await scene.read(id)).embeds).to.deep.equal([shown('/alone')]);
    const { id: rich } = await scene.post({ content: link('/beside'), embeds: [{ title: 'rich' }] }, scene.asBot);
    await fetchPreviews(scene.worker, rich);
    expect((await scene.edit(rich, { content: '' }, scene.asBot)).body.embeds).to.deep.equal([{ title: 'rich' }]);
    expectError(await scene.edit(rich, { embeds: [] }, scene.asBot), 400, 'invalid_request');
  });

  it('PATCH {} changes nothing; an edit pings nobody by what a page says', async () => {
    const id = await previewed(`${link('/@everyone')} hi`);
    const before = JSON.stringify(await scene.stored(id));
    expect((await scene.edit(id, {})).status).to.equal(200);
    expect(JSON.stringify(await scene.stored(id))).to.equal(before);
    expect((await scene.read(id)).embeds).to.deep.equal([{ url: link('/@everyone'), title: '/\\@everyone' }]);
    expect(await scene.read(id)).to.include({ mentionEveryone: false, editedAt: null });
  });

  it('the sweep asks again for marks older than 10 s, 100 at a time, and for no others', async () => {
    await scene.api.platform.db.messages.updateMany({}, { $unset: { previewsAt: 1 } });
    const nudged: unknown[] = [];
    const worker: WorkerPlatform = { ...scene.worker, nudge: (name, data) => void nudged.push([name, data]) };
    const { id } = await scene.post({ content: link('/swept') });
    await sweepPreviews(worker);
    expect(nudged).to.deep.equal([]);
    await scene.api.platform.db.messages.updateOne({ _id: id }, { $set: { previewsAt: new Date(Date.now() - 10_500) } });
    await sweepPreviews(worker);
    expect(nudged).to.deep.equal([['fetch-previews', { messageId: id }]]);
    const old = Array.from({ length: 110 }, () => ({ ...blank, _id: worker.ids.next(), channelId: scene.channelId }));
    await scene.api.platform.db.messages.insertMany(old);
    nudged.length = 0;
    await sweepPreviews(worker);
    expect(nudged).to.have.length(100);
    await fetchPreviews(scene.worker, id);
    await Promise.all(old.map(({ _id }) => fetchPreviews(scene.worker, _id)));
    nudged.length = 0;
    await sweepPreviews(worker);
    expect(nudged).to.deep.equal([]);
  });
});

/** A message whose mark is old and whose content has no link. */
const blank = {
  serverId: null,
  authorId: '1000000000000000001',
  content: 'none',
  ...plainMessage,
  createdAt: new Date(0),
  previewsAt: new Date(Date.now() - 60_000),
};
