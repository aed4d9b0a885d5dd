import type { JSX } from 'preact';
import type { WebhookDelivery, WebhookDeliveryPage } from '../../../../../lib/contract/webhook-delivery.ts';
import { path } from '../../../api/call.ts';
import { Button } from '../../../ui/button.tsx';
import { ErrorNotice } from '../../../ui/error-notice.tsx';
import { Spinner } from '../../../ui/loading.tsx';
import { shortMomentOf } from '../../../ui/times.ts';
import { useGet } from '../../../ui/use-loaded.ts';

const eventNames: Record<string, string> = {
  ping: 'Connected',
  push: 'Push',
  pull_request: 'Pull request',
  pull_request_review: 'Pull request review',
  pull_request_approved: 'Review: approved',
  pull_request_rejected: 'Review: changes requested',
  pull_request_comment: 'Review: comment',
  issues: 'Issue',
  issue_comment: 'Comment',
  release: 'Release',
  workflow_run: 'Workflow run',
  create: 'Branch or tag created',
  delete: 'Branch or tag deleted',
  star: 'Star',
  fork: 'Fork',
};

const outcomes: Record<WebhookDelivery['outcome'], string> = {
  posted: 'Posted',
  merged: 'Combined with other events',
  ignored: 'Ignored',
  failed: 'Failed',
};

const nameOf = ({ event, action }: WebhookDelivery): string =>
  `${eventNames[event] ?? event}${action === null ? '' : ` (${action.replaceAll('_', ' ')})`}`;

/** The results of the latest deliveries from code hosts to a webhook, newest first. */
export function DeliveryLog({ webhookId }: { webhookId: string }): JSX.Element {
  const log = useGet<WebhookDeliveryPage>(path`/api/webhooks/${webhookId}/deliveries`);
  const items = log.value?.items;
  return (
    <div class="delivery-log">
      <div>
        <Button onClick={log.reload}>Refresh</Button>
      </div>
      <ErrorNotice error={log.error} />
      {!items && !log.error && <Spinner />}
      {items?.length === 0 && <p>No deliveries yet. A delivery is listed once it is posted.</p>}
      {items && items.length > 0 && (
        <div class="delivery-table" tabIndex={0} role="region" aria-label="Deliveries">
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Event</th>
                <th scope="col">Result</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one) => (
                <tr key={one.id}>
                  <td>
                    <time dateTime={one.at}>{shortMomentOf(one.at)}</time>
                  </td>
                  <td>{nameOf(one)}</td>
                  <td>
                    <span class={`delivery-outcome ${one.outcome}`}>{outcomes[one.outcome]}</span>
                    {one.reason !== null && <span class="hint settings-sub">{one.reason.replaceAll('`', '')}</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
