import { expect } from 'chai';
import type { mongo } from 'mongoose';
import type { JobData } from '../../lib/contract/jobs.ts';
import { copyToNextFollowers } from '../../lib/domain/jobs/crosspost-copies.ts';
import { fetchPreviews } from '../../lib/domain/previews/previews.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { messageSchema } from '../../lib/store/mongo/models/message.ts';
import { reactionSchema } from '../../lib/store/mongo/models/reaction.ts';
import { messageCalls } from '../api/messages/message-fixture.ts';
import { startTestApi, startTestApiWithWorker } from '../harness/api.ts';
import { monitoredUrl, onDatabaseCommand } from '../harness/commands.ts';
import { makeFollowing } from '../harness/crosspost.ts';
import { send } from '../harness/requests.ts';
import { ownerOf } from '../harness/seed.ts';
import { testConfig } from '../harness/stores.ts';
import { make, use } from '../harness/use.ts';

/** What a command selects or inserts, one document for each statement. */
function selectorsOf(command: mongo.Document): mongo.Document[] {
  const { filter, query, pipeline, documents, updates, deletes } = command as Record<string, never>;
  const statements = [...((updates ?? []) as { q: mongo.Document }[]), ...((deletes ?? []) as { q: mongo.Document }[])].map(({ q }) => q);
  const match = (pipeline as { $match?: mongo.Document }[] | undefined)?.[0]?.$match;
  return [...[filter, query, match].filter((one) => one !== undefined), ...((documents ?? []) as mongo.Document[]), ...statements];
}

/** Whether it names one channel or several, so that a sharded database asks only their shards. */
const namesChannel = ({ channelId }: mongo.Document): boolean =>
  typeof channelId === 'string' || Array.isArray((channelId as { $in?: unknown })?.$in);

describe('commands on messages and reactions', () => {
  const api = use(() => startTestApiWithWorker(() => startTestApi({ MONGODB_URL: monitoredUrl(testConfig().MONGODB_URL) })));
  const following = make(() => makeFollowing(api.platform, 3));
  const owner = make(() => Promise.resolve(ownerOf(following.from)));
  const channel = make(() => Promise.resolve({ id: following.news }));
  const { path, post, list, read, edit, remove } = messageCalls(api, channel, owner);
  /** The selectors without a channel, and how many commands were seen. */
  let scattered: unknown[] = [];
  let seen = 0;
  const record = ({ commandName, command }: mongo.CommandStartedEvent): void => {
    const collection: unknown = command[commandName];
    if (collection !== 'messages' && collection !== 'reactions') return;
    seen++;
    for (const selector of selectorsOf(command)) if (!namesChannel(selector)) scattered.push([commandName, collection, selector]);
  };
  before(() => {
    onDatabaseCommand(api.platform, record);
    onDatabaseCommand(api.worker, record);
  });
  const call = <T = unknown>(status: number, method: string, to: string, body?: object): Promise<T> =>
    send(api, status, owner, method, to, body);
  const newWebhook = () => call<{ id: string; token: string }>(201, 'POST', `/api/channels/${following.news}/webhooks`, { name: 'hook' });
  /** Runs a request and returns the data of the job `name` that it asked for. */
  const jobDataOf = async <N extends 'crosspost-server' | 'fetch-previews'>(name: N, act: () => Promise<unknown>): Promise<JobData<N>> => {
    const asked: JobData<N>[] = [];
    const { tryEnqueue } = api.platform.jobs;
    Object.assign(api.platform.jobs, { tryEnqueue: (other: string, data: JobData<N>) => void (other === name && asked.push(data)) });
    await act().finally(() => Object.assign(api.platform.jobs, { tryEnqueue }));
    return asked[0] as JobData<N>;
  };

  const flows: Record<string, () => Promise<unknown>> = {
    'a post, a reply, a read and lists': async () => {
      const { id } = await post('x');
      await post({ content: 'y', replyTo: id });
      await read(id);
      await list(owner);
      await list(owner, `?before=${id}`);
    },
    'a post that is repeated': async () => {
      const headers = { 'Idempotency-Key': 'again' };
      for (let n = 0; n < 2; n++) await api.call('POST', path(), { as: owner.as, body: { content: 'x' }, headers });
    },
    'an edit, a thread and a delete': async () => {
      const { id } = await post('x');
      await edit(id, { content: 'y' });
      await call(201, 'POST', `/api/channels/${following.news}/threads`, { name: 'x', messageId: id });
      await remove(id);
    },
    pins: async () => {
      const { id } = await post('x');
      const pins = `/api/channels/${following.news}/pins`;
      await call(204, 'PUT', `${pins}/${id}`);
      await call(200, 'GET', pins);
      await call(204, 'DELETE', `${pins}/${id}`);
    },
    reactions: async () => {
      const { id } = await post('x');
      for (const [method, status] of [
        ['PUT', 204],
        ['GET', 200],
        ['DELETE', 204],
        ['DELETE', 204],
      ] as const)
        await call(status, method, `${path(id)}/reactions/👍`);
    },
    'read marks': async () => {
      const { id } = await post('x');
      await call(204, 'PUT', `/api/channels/${following.news}/read`, { messageId: id });
      await call(200, 'GET', '/api/users/@me/reads');
    },
    'a post by a webhook': async () => {
      const { id, token } = await newWebhook();
      await call(201, 'POST', `/api/webhooks/${id}/${token}`, { content: 'x' });
    },
    'link previews': async () => {
      const data = await jobDataOf('fetch-previews', () => post('http://127.0.0.1:1/x'));
      await fetchPreviews(api.worker, data.messageId, data.channelId);
    },
    'the relay of what came before, and of a delete': async () => {
      const { id } = await post('x');
      await call(204, 'PUT', `${path(id)}/reactions/👍`);
      await remove(id);
      await relayEvents(api.worker, 'channel', following.news);
    },
  };
  for (const [what, act] of Object.entries(flows))
    it(`name the channel: ${what}`, async () => {
      [scattered, seen] = [[], 0];
      await act();
      expect(seen).to.be.above(0);
      expect(scattered).to.deep.equal([]);
    });

  it('name the channel: a crosspost, but for the oldest one of the server and the tombstones of its copies, once in each chunk', async () => {
    const { id } = await post('x');
    const { serverId } = await jobDataOf('crosspost-server', () => call(200, 'POST', `${path(id)}/crosspost`));
    [scattered, seen] = [[], 0];
    await copyToNextFollowers(api.worker, serverId);
    expect(scattered.map((one) => (one as string[]).slice(0, 2))).to.deep.equal([
      ['find', 'messages'],
      ['delete', 'messages'],
    ]);
  });

  for (const [name, schema] of Object.entries({ messages: messageSchema, reactions: reactionSchema }))
    it(`${name}: unique indexes begin with the shard key`, () => {
      expect(schema.get('shardKey')).to.deep.equal({ channelId: 'hashed' });
      const unique = schema.indexes().filter(([, options]) => options?.unique);
      expect(unique.map(([fields]) => Object.keys(fields)[0])).to.deep.equal(unique.map(() => 'channelId'));
    });
});
