// These tests cover webhooks: managing them, posting with their URLs, the messages they post, their secrets and their rate limit.
import type { AuditPage } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import type { WebhookDoc } from '../../../lib/store/mongo/models/webhook.ts';
import type { Answer } from '../../harness/api.ts';
import { makeChannel, word } from '../../harness/factories.ts';
import { send } from '../../harness/requests.ts';
import { make, newMember, useServer } from '../../harness/use.ts';

/** The part of a webhook that its URL consists of. */
type Credentials = Pick<NewWebhook, 'id' | 'token'>;

/** Starts an API with a server, a member with the permissions of `@everyone` and, for every test, a new channel. */
export function useWebhooks() {
  const given = useServer({ member: newMember() });
  const { api, owner, server, member } = given;
  const channel = make(() => makeChannel(api, owner, server.id), { each: true });
  const urlOf = ({ id, token }: Credentials): string => `/api/webhooks/${id}/${token}`;
  return {
    ...given,
    channel,
    /** Makes a webhook, by default in `channel`. */
    makeWebhook: (channelId = channel.id, name = word('hook'), as = owner): Promise<NewWebhook> =>
      send(api, 201, as, 'POST', `/api/channels/${channelId}/webhooks`, { name }),
    /** Posts `content`; expects 201. */
    post: (webhook: Credentials, content = 'x'): Promise<Message> => send(api, 201, null, 'POST', urlOf(webhook), { content }),
    /** Posts `body`; returns the response of any status. */
    call: (webhook: Credentials, body: unknown = { content: 'x' }, headers: Record<string, string> = {}): Promise<Answer> =>
      api.call('POST', urlOf(webhook), { body, headers }),
    stored: (id: string): Promise<WebhookDoc | null> => api.platform.db.webhooks.findOne({ _id: id }),
    /** The messages of `channel`. */
    messages: (): Promise<Message[]> => send(api, 200, member, 'GET', `/api/channels/${channel.id}/messages`),
    /** The audit entries about a webhook or message, newest first. */
    async audit(id: string): Promise<AuditPage['items']> {
      const { items } = await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`);
      return items.filter(({ targetId }) => targetId === id);
    },
  };
}

/** The same with a webhook "Build news" in the channel. */
export function useWebhook() {
  const fixture = useWebhooks();
  const webhook = make(() => fixture.makeWebhook(fixture.channel.id, 'Build news'), { each: true });
  const names = { username: 'Build news', displayName: 'Build news' };
  const author = (): Message['author'] => ({ id: webhook.id, ...names, avatarUrl: null, tag: 'bot' });
  return { ...fixture, webhook, author };
}
