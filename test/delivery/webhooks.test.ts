import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { NewWebhook } from '../../lib/contract/webhook.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { makeChannel, makeServer } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { page, sendPage, startSite } from '../harness/site.ts';
import { newBot, use, useServer } from '../harness/use.ts';

describe('Webhooks: events', () => {
  const site = use(() => startSite((_request, response) => sendPage(response, page('A page'))));
  const { api: parlance, owner, server, bot } = useServer({ bot: newBot() }, { start: () => startParlance({ OUTBOUND_ALLOW: site.pair }) });
  const recorder = useRecorder(parlance, bot, ['MESSAGE_UPDATE']);

  const makeWebhook = (channelId = server.general): Promise<NewWebhook> =>
    send(parlance, 201, owner, 'POST', `/api/channels/${channelId}/webhooks`, { name: 'Builds' });
  const pathOf = ({ id, token }: NewWebhook): string => `/api/webhooks/${id}/${token}`;
  const postAs = (webhook: NewWebhook, content: string): Promise<Message> =>
    send(parlance, 201, null, 'POST', pathOf(webhook), { content });
  const about = (id: string, name: string) => (event: Dispatch) => event.t === name && event.d.id === id;

  it('posts are sent as they were answered, and their links get previews', async () => {
    const webhook = await makeWebhook();
    const plain = await postAs(webhook, 'plain');
    expect((await recorder.waitFor(about(plain.id, 'MESSAGE_CREATE'))).d).to.deep.equal({ ...plain, serverId: server.id });
    const { id } = await postAs(webhook, `see ${site.url}/page`);
    const { d } = await recorder.waitFor(about(id, 'MESSAGE_UPDATE'));
    expect(d).to.deep.include({ embeds: [{ url: `${site.url}/page`, title: 'A page' }], editedAt: null });
    expect(d.author).to.include({ username: 'Builds', tag: 'bot' });
  });

  describe('when their channel or server is deleted', () => {
    const countLeft = (channel: string): Promise<number> => parlance.platform.db.webhooks.countDocuments({ channelId: channel });
    /** Runs the last pass of a deletion, which normally runs after a minute. */
    const lastPass = async (removalId: string): Promise<void> => {
      await parlance.platform.db.removals.updateOne({ _id: removalId }, { $set: { at: new Date(0) } });
      await finishRemoval(parlance.worker, removalId);
    };

    it('deleting a channel removes its webhooks, including one that is created meanwhile', async () => {
      const { id } = await makeChannel(parlance, owner, server.id);
      const webhook = await makeWebhook(id);
      const other = await makeWebhook();
      const like = await parlance.platform.db.webhooks.findOne({ _id: webhook.id });
      await send(parlance, 204, owner, 'DELETE', `/api/channels/${id}`);
      await send(parlance, 404, null, 'POST', pathOf(webhook), { content: 'x' });
      await waitUntil(async () => (await countLeft(id)) === 0, 'the first pass');
      await parlance.platform.db.webhooks.insertOne({ ...like, _id: parlance.platform.ids.next() } as never);
      await lastPass(id);
      await waitUntil(async () => (await countLeft(id)) === 0, 'the last pass');
      await send(parlance, 200, owner, 'GET', `/api/webhooks/${other.id}`);
    });

    it('deleting a server removes its webhooks', async () => {
      const { id, general } = await makeServer(parlance, owner);
      const webhook = await makeWebhook(general);
      await send(parlance, 204, owner, 'DELETE', `/api/servers/${id}`);
      await send(parlance, 404, null, 'POST', pathOf(webhook), { content: 'x' });
      await waitUntil(async () => (await countLeft(general)) === 0, 'the first pass');
    });
  });
});
