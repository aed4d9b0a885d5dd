// These tests cover webhooks: managing them, posting with their URLs, the messages they post, their secrets and their rate limit.
import type { Channel } from '../../../lib/contract/channel.ts';
import type { AuditPage } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import type { WebhookDoc } from '../../../lib/store/mongo/models/webhook.ts';
import type { Answer } from '../../harness/api.ts';
import { makeChannel, word } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { type Given, make, newMember, useServer } from '../../harness/use.ts';

/** The part of a webhook that its URL consists of. */
type Credentials = Pick<NewWebhook, 'id' | 'token'>;

/** A server with a member and, for every test, a new channel. */
export interface WebhooksFixture extends Given {
  /** Has the permissions of `@everyone`. */
  member: Caller;
  channel: Channel;
  /** Makes a webhook, by default in `channel`. */
  makeWebhook(channelId?: string, name?: string, as?: Caller): Promise<NewWebhook>;
  /** Posts `content`; expects 201. */
  post(webhook: Credentials, content?: string): Promise<Message>;
  /** Posts `body`; returns the response of any status. */
  call(webhook: Credentials, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  stored(id: string): Promise<WebhookDoc | null>;
  /** The messages of `channel`. */
  messages(): Promise<Message[]>;
  /** The audit entries about a webhook or message, newest first. */
  audit(id: string): Promise<AuditPage['items']>;
}

/** Starts an API with such a server. */
export function useWebhooks(): WebhooksFixture {
  const given = useServer({ member: newMember() });
  const { api, owner, server, member } = given;
  const channel = make(() => makeChannel(api, owner, server.id), { each: true });
  const urlOf = ({ id, token }: Credentials): string => `/api/webhooks/${id}/${token}`;
  return {
    ...given,
    channel,
    makeWebhook: (channelId = channel.id, name = word('hook'), as = owner) =>
      send(api, 201, as, 'POST', `/api/channels/${channelId}/webhooks`, { name }),
    post: (webhook, content = 'x') => send(api, 201, null, 'POST', urlOf(webhook), { content }),
    call: (webhook, body = { content: 'x' }, headers = {}) => api.call('POST', urlOf(webhook), { body, headers }),
    stored: (id) => api.platform.db.webhooks.findOne({ _id: id }),
    messages: () => send(api, 200, member, 'GET', `/api/channels/${channel.id}/messages`),
    async audit(id) {
      const { items } = await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`);
      return items.filter(({ targetId }) => targetId === id);
    },
  };
}

/** The same with a webhook "Build news" in the channel. */
export function useWebhook(): WebhooksFixture & { webhook: NewWebhook; author(): Message['author'] } {
  const fixture = useWebhooks();
  const webhook = make(() => fixture.makeWebhook(fixture.channel.id, 'Build news'), { each: true });
  const author = (): Message['author'] => ({
    id: webhook.id,
    username: 'Build news',
    displayName: 'Build news',
    avatarUrl: null,
    tag: 'bot',
  });
  return { ...fixture, webhook, author };
}
