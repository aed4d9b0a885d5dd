import type { Message } from '../../../lib/contract/message.ts';
import type { AuditPage } from '../../../lib/contract/server.ts';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import type { WebhookDoc } from '../../../lib/store/mongo/models/webhook.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { type Caller, makeMember, makePerson, makeServer, type Place, send, word } from '../../harness/factories.ts';

/** A server with its owner and a plain member, and short ways to make webhooks and to post by them. */
export interface WebhookFixture {
  api: TestApi;
  owner: Caller;
  /** A member with the permissions of `@everyone`. */
  member: Caller;
  server: Place;
  /** Makes a webhook, in the server's first channel by default. */
  make: (channelId?: string, name?: string, as?: Caller) => Promise<NewWebhook>;
  /** Posts by a webhook's URL, whatever comes of it. */
  post: (webhook: Pick<NewWebhook, 'id' | 'token'>, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  /** Posts `content`, and answers the message. */
  say: (webhook: Pick<NewWebhook, 'id' | 'token'>, content?: string) => Promise<Message>;
  stored: (id: string) => Promise<WebhookDoc | null>;
  /** Makes the webhook's posts so much older. */
  age: (id: string, ms: number) => Promise<unknown>;
  /** The audit entries about a webhook, newest first. */
  audit: (id: string) => Promise<AuditPage['items']>;
}

/** Starts an API with such a server. */
export async function webhookFixture(overrides: Record<string, string> = {}): Promise<WebhookFixture> {
  const api = await startTestApi(overrides);
  const owner = await makePerson(api);
  const server = await makeServer(api, owner);
  const member = await makeMember(api, owner, server.id);
  const { webhooks } = api.platform.db;
  const post: WebhookFixture['post'] = ({ id, token }, body = { content: 'x' }, headers = {}) =>
    api.call('POST', `/api/webhooks/${id}/${token}`, { body, headers });
  const aged = (field: string, ms: number) => ({ $map: { input: `$${field}`, in: { $subtract: ['$$this', ms] } } });
  return {
    api,
    owner,
    member,
    server,
    make: (channelId = server.general, name = word('hook'), as = owner) =>
      send(api, 201, as, 'POST', `/api/channels/${channelId}/webhooks`, { name }),
    post,
    say: ({ id, token }, content = 'x') => send(api, 201, null, 'POST', `/api/webhooks/${id}/${token}`, { content }),
    stored: (id) => webhooks.findOne({ _id: id }).lean().exec(),
    age: (id, ms) =>
      webhooks.collection.updateOne({ _id: id as never }, [
        { $set: { posts: aged('posts', ms), deliveryPosts: aged('deliveryPosts', ms) } },
      ]),
    async audit(id) {
      const { items } = await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`);
      return items.filter(({ targetId }) => targetId === id);
    },
  };
}
