import type { JSX } from 'preact';
import type { WebhookDelivery, WebhookDeliveryPage } from '../../../../../lib/contract/delivery.ts';
import { call, path } from '../../../api/call.ts';
import { Button } from '../../../ui/button.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { momentOf } from '../../../ui/times.ts';
import { useRead } from '../../../ui/use-read.ts';

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
  ignored: 'Not shown',
  failed: 'Failed',
};

const nameOf = ({ event, action }: WebhookDelivery): string =>
  `${eventNames[event] ?? event}${action === null ? '' : ` (${action.replaceAll('_', ' ')})`}`;

/** The results of the latest deliveries from code hosts to a webhook, newest first. */
export function DeliveryLog({ webhookId }: { webhookId: string }): JSX.Element {
  const log = useRead<WebhookDeliveryPage>(
    (signal) => call('GET', path`/api/webhooks/${webhookId}/deliveries`, undefined, { signal }),
    [webhookId],
  );
  const items = log.value?.items;
  return (
    <div class="delivery-log">
      <div>
        <Button onClick={log.again}>Read again</Button>
      </div>
      <Problem error={log.error} />
      {!items && !log.error && <p class="spinner">Loading …</p>}
      {items?.length === 0 && <p>No deliveries yet. Deliveries that are not posted yet are not listed.</p>}
      {items && items.length > 0 && (
        <div class="delivery-table" tabIndex={0} role="region" aria-label="Deliveries">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">What</th>
                <th scope="col">Outcome</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one) => (
                <tr key={one.id}>
                  <td>
                    <time dateTime={one.at}>{momentOf(one.at)}</time>
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
