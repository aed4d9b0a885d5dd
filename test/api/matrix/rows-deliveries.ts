import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { send } from '../../harness/requests.ts';
import type { MatrixFixture } from './fixture.ts';
import { anyone, needs, refuseAll, viewers } from './roles.ts';
import { type Row, row, wrongToken } from './row.ts';

const makeWebhook = async (fixture: MatrixFixture): Promise<NewWebhook> =>
  send<NewWebhook>(fixture.api, 201, fixture.owner, 'POST', `/api/channels/${await fixture.makeChannel()}/webhooks`, { name: 'code host' });

const codehost = 'POST /api/webhooks/{webhookId}/{webhookToken}/codehost';
const star = { headers: { 'X-GitHub-Event': 'star' }, body: { action: 'created', repository: { name: 'r' }, sender: { login: 's' } } };

/** Deliveries of code hosts, which need only the URL (docs/behavior/webhooks.md#delivery-requests), and their log. */
export const deliveryRows: readonly Row[] = [
  row(codehost, anyone, 202, async (fixture) => {
    const { id, token } = await makeWebhook(fixture);
    return { params: [id, token], ...star };
  }),
  row(
    codehost,
    [refuseAll('404 not_found')],
    202,
    async (fixture) => ({ params: [(await makeWebhook(fixture)).id, wrongToken], ...star }),
    'with a wrong token',
  ),
  row('GET /api/webhooks/{webhookId}/deliveries', [...viewers, needs('Manage Webhooks')], 200, async (fixture) => ({
    params: [(await makeWebhook(fixture)).id],
  })),
];
