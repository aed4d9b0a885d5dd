import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { NewWebhook } from '../../lib/contract/webhook.ts';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { page, sendPage } from '../harness/previews.ts';
import { until } from '../harness/scene.ts';
import { type Site, startSite } from '../harness/site.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

describe('webhooks, through all roles', () => {
  let site: Site;
  let whole: Whole;
  let world: World;
  let ears: { bot: Ear; hidden: Ear; person: Ear };
  let channelId: string;
  let as: string;

  before(async () => {
    site = await startSite((_request, response) => sendPage(response, page('A page')));
    whole = await startWhole({ OUTBOUND_ALLOW: site.pair });
    world = await makeWorld(whole.platform, { bots: 2, channels: 2 });
    channelId = world.channelIds[0] as string;
    as = `Bearer ${world.ownerToken}`;
    const [bot, hidden] = await Promise.all(
      world.bots.map(({ token }) => listenAs(whole, `Bot ${token}`, ['MESSAGE_UPDATE', 'MESSAGE_DELETE'])),
    );
    ears = { bot: bot as Ear, hidden: hidden as Ear, person: await listenAs(whole, world.ownerToken) };
    const body = { allow: 0, deny: permissionBits['View Channel'] };
    await call(200, 'PUT', `/api/channels/${channelId}/overwrites/${world.bots[1]?.id}`, body);
  });
  after(async () => {
    await Promise.all(Object.values(ears).map(({ client }) => client.close()));
    await whole.close();
    await site.close();
  });

  const call = async <T = void>(status: number, method: string, path: string, body?: unknown, by: string | undefined = as): Promise<T> => {
    const answer = await whole.call<T>(method, path, { as: by, body });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    return answer.body;
  };
  const make = (channel = channelId): Promise<NewWebhook> => call(201, 'POST', `/api/channels/${channel}/webhooks`, { name: 'Builds' });
  const say = ({ id, token }: NewWebhook, content: string): Promise<Message> =>
    call(201, 'POST', `/api/webhooks/${id}/${token}`, { content }, '');
  const about = (id: string, name: string) => (event: Dispatch) => event.t === name && event.d.id === id;

  it('MESSAGE_CREATE with the server reaches who can view the channel, in the order of posts, and nobody else', async () => {
    const webhook = await make();
    const posted = [];
    for (const content of ['one', 'two', 'three']) posted.push(await say(webhook, content));
    const elsewhere = await say(await make(world.channelIds[1]), 'elsewhere');
    for (const ear of [ears.bot, ears.person]) {
      for (const message of posted)
        expect((await ear.hears(about(message.id, 'MESSAGE_CREATE'))).d).to.deep.equal({ ...message, serverId: world.serverId });
      const heard = ear.heard.flatMap(({ t, d }) => (t === 'MESSAGE_CREATE' && d.channelId === channelId ? [d.id] : []));
      expect(heard).to.deep.equal(posted.map(({ id }) => id));
    }
    await ears.hidden.hears(about(elsewhere.id, 'MESSAGE_CREATE'));
    expect(ears.hidden.heard.filter(({ d }) => d.channelId === channelId)).to.deep.equal([]);
  });

  it('links get previews, as those of others', async () => {
    const { id } = await say(await make(), `see ${site.url}/page`);
    const { d } = await ears.bot.hears(about(id, 'MESSAGE_UPDATE'));
    expect(d).to.deep.include({ embeds: [{ url: `${site.url}/page`, title: 'A page' }], editedAt: null });
    expect(d.author).to.include({ username: 'Builds', tag: 'bot' });
  });

  it('a message deleted by a moderator is a MESSAGE_DELETE', async () => {
    const { id } = await say(await make(), 'x');
    await call(204, 'DELETE', `/api/channels/${channelId}/messages/${id}`);
    expect((await ears.bot.hears(about(id, 'MESSAGE_DELETE'))).d).to.deep.equal({ id, channelId, serverId: world.serverId });
  });

  describe('when what they stand in goes', () => {
    const left = (channel: string): Promise<number> => whole.platform.db.webhooks.countDocuments({ channelId: channel });
    /** Makes the last pass of a deletion, which comes after a minute. */
    const lastPass = async (removalId: string): Promise<void> => {
      await whole.platform.db.removals.updateOne({ _id: removalId }, { $set: { at: new Date(0) } });
      await finishRemoval(whole.worker, removalId);
    };

    it('a channel takes its webhooks along, and one that was being made at that moment', async () => {
      const { id } = await call<{ id: string }>(201, 'POST', `/api/servers/${world.serverId}/channels`, { name: 'x', kind: 'text' });
      const webhook = await make(id);
      const other = await make();
      const like = await whole.platform.db.webhooks.findOne({ _id: webhook.id }).lean();
      await call(204, 'DELETE', `/api/channels/${id}`);
      await call(404, 'POST', `/api/webhooks/${webhook.id}/${webhook.token}`, { content: 'x' }, '');
      await until(async () => (await left(id)) === 0, 'the first pass');
      await whole.platform.db.webhooks.collection.insertOne({ ...like, _id: whole.platform.ids.next() } as never);
      await lastPass(id);
      await until(async () => (await left(id)) === 0, 'the last pass');
      await call(200, 'GET', `/api/webhooks/${other.id}`);
    });

    it('a server takes all of them', async () => {
      const server = await call<{ id: string; channels: { id: string }[] }>(201, 'POST', '/api/servers', { name: 'x' });
      const general = server.channels[0]?.id as string;
      const webhook = await make(general);
      await call(204, 'DELETE', `/api/servers/${server.id}`);
      await call(404, 'POST', `/api/webhooks/${webhook.id}/${webhook.token}`, { content: 'x' }, '');
      await until(async () => (await left(general)) === 0, 'the first pass');
    });
  });
});
