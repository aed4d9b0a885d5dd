import { anyone, needs, viewers } from './roles.ts';
import { type Row, row } from './row.ts';

const managers = [...viewers, needs('Manage Webhooks')];
const webhook = '/api/webhooks/{id}';

/** Webhooks of a channel: they are managed where they are shown, in the channel. */
export const webhookRows: readonly Row[] = [
  row('GET /api/channels/{channelId}/webhooks', managers, 200, ({ channelId }) => ({ at: [channelId] })),
  row('POST /api/channels/{channelId}/webhooks', managers, 201, ({ channelId }) => ({ at: [channelId], body: { name: 'hook' } })),
];

/** Single webhooks; to post needs the URL and nothing else, so whatever credential comes with it is ignored. */
export const singleWebhookRows: readonly Row[] = [
  row(`GET ${webhook}`, managers, 200, async (stage) => ({ at: [(await stage.webhook()).id] })),
  row(`PATCH ${webhook}`, managers, 200, async (stage) => ({ at: [(await stage.webhook()).id], body: { name: 'renamed' } })),
  row(`POST ${webhook}/token`, managers, 200, async (stage) => ({ at: [(await stage.webhook()).id] })),
  row(`DELETE ${webhook}`, managers, 204, async (stage) => ({ at: [(await stage.webhook()).id] })),
  row('POST /api/webhooks/{webhook_id}/{webhook_token}', anyone, 201, async (stage) => {
    const { id, token } = await stage.webhook();
    return { at: [id, token], body: { content: 'x' } };
  }),
];
