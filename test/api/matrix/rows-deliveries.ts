import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { send } from '../../harness/factories.ts';
import { anyone, needs, refuseAll, viewers } from './roles.ts';
import { type Row, row } from './row.ts';
import type { Stage } from './stage.ts';

const makeWebhook = async (stage: Stage): Promise<NewWebhook> =>
  send<NewWebhook>(stage.api, 201, stage.owner, 'POST', `/api/channels/${await stage.channel()}/webhooks`, { name: 'code host' });

const codehost = 'POST /api/webhooks/{webhook_id}/{webhook_token}/codehost';
const star = { headers: { 'X-GitHub-Event': 'star' }, body: { action: 'created', repository: { name: 'r' }, sender: { login: 's' } } };
const wrong = 'A'.repeat(43);

/** Deliveries of code hosts, for whoever has the URL (docs/behavior/webhooks.md#delivery-requests), and who may see their log. */
export const deliveryRows: readonly Row[] = [
  row(codehost, anyone, 202, async (stage) => {
    const { id, token } = await makeWebhook(stage);
    return { at: [id, token], ...star };
  }),
  row(codehost, [refuseAll('404 not_found')], 202, async (stage) => ({ at: [(await makeWebhook(stage)).id, wrong], ...star }), {
    case: 'with a wrong token',
  }),
  row('GET /api/webhooks/{id}/deliveries', [...viewers, needs('Manage Webhooks')], 200, async (stage) => ({
    at: [(await makeWebhook(stage)).id],
  })),
];
