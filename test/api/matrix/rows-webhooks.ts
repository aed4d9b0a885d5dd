import type { MatrixFixture } from './fixture.ts';
import { anyone, needs, viewers } from './roles.ts';
import { type Call, channelCall, type Row, row, withBody } from './row.ts';

const managers = [...viewers, needs('Manage Webhooks')];
const webhook = '/api/webhooks/{webhookId}';
const webhookCall = async (fixture: MatrixFixture): Promise<Call> => ({ params: [(await fixture.makeWebhook()).id] });

/** The webhooks of a channel. */
export const webhookRows: readonly Row[] = [
  row('GET /api/channels/{channelId}/webhooks', managers, 200, channelCall),
  row('POST /api/channels/{channelId}/webhooks', managers, 201, ({ channelId }) => ({ params: [channelId], body: { name: 'hook' } })),
];

/** Single webhooks. A post needs only the URL: a credential is ignored. */
export const singleWebhookRows: readonly Row[] = [
  row(`GET ${webhook}`, managers, 200, webhookCall),
  row(`PATCH ${webhook}`, managers, 200, withBody(webhookCall, { name: 'renamed' })),
  row(`POST ${webhook}/token`, managers, 200, webhookCall),
  row(`DELETE ${webhook}`, managers, 204, webhookCall),
  row('POST /api/webhooks/{webhookId}/{webhookToken}', anyone, 201, async (fixture) => {
    const { id, token } = await fixture.makeWebhook();
    return { params: [id, token], body: { content: 'x' } };
  }),
];
