import { useSignal } from '@preact/signals';
import { RotateCw } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { limits } from '../../../lib/base/limits.ts';
import type { EndpointDelivery, EndpointDeliveryOutcome, EndpointDeliveryPage } from '../../../lib/contract/endpoint.ts';
import { call, path, query } from '../api/call.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useTask } from '../ui/form.tsx';
import { Icon } from '../ui/icon.tsx';
import { shortMomentOf } from '../ui/times.ts';

const outcomes: Record<EndpointDeliveryOutcome, { name: string; meaning: string }> = {
  answered: { name: 'Answered', meaning: 'The bot’s answer was posted.' },
  deferred: { name: 'Deferred', meaning: 'The user sees that the bot is thinking, for up to 15 minutes.' },
  empty: {
    name: 'No body',
    meaning: 'The response was empty (200 without a body, or 204), so the bot had to answer through the callback URL within 3 seconds.',
  },
  failed: { name: 'Failed', meaning: 'The endpoint did not send a valid response.' },
};
const pageSize = 20;

function Row({
  delivery: { at, command, user, outcome, status, ms, reason, interactionId, messageId },
}: {
  delivery: EndpointDelivery;
}): JSX.Element {
  return (
    <tr>
      <td>
        <time dateTime={at}>{shortMomentOf(at)}</time>
      </td>
      <td>
        <code>/{command}</code> <bdi class="soft">{user?.displayName ?? 'Deleted account'}</bdi>
      </td>
      <td>
        <strong class={`outcome ${outcome}`}>{outcomes[outcome].name}</strong>
      </td>
      <td>{status ?? 'None'}</td>
      <td>{ms} ms</td>
      <td>
        {reason ?? outcomes[outcome].meaning}
        <span class="hint delivery-id">Interaction {interactionId}</span>
        {messageId === null ? null : <span class="hint delivery-id">Message {messageId}</span>}
      </td>
    </tr>
  );
}

/** The results of the interactions that were sent to the endpoint, newest first, one page at a time. */
export function DeliveryLog({ id }: { id: string }): JSX.Element {
  const items = useSignal<readonly EndpointDelivery[] | undefined>(undefined);
  const hasMore = useSignal(false);
  const task = useTask();
  const read = (before?: string): void =>
    void task.run(async () => {
      const page = await call<EndpointDeliveryPage>('GET', path`/api/applications/${id}/deliveries` + query({ before, limit: pageSize }));
      items.value = before === undefined ? page.items : [...(items.value ?? []), ...page.items];
      hasMore.value = page.hasMore;
    });
  useEffect(() => read(), []);
  const loaded = items.value;
  return (
    <section class="portal-section" aria-labelledby="deliveries">
      <div class="portal-top">
        <h2 id="deliveries">Deliveries</h2>
        <Button busy={task.busy} onClick={() => read()}>
          <Icon of={RotateCw} /> Refresh
        </Button>
      </div>
      <p class="hint">
        The last {limits.interactionDeliveriesListed} interactions sent to your endpoint, kept for 7 days. Each interaction is sent only
        once.
      </p>
      <ErrorNotice error={task.error} />
      {loaded?.length === 0 && <p>No interactions have been sent to an endpoint yet.</p>}
      {loaded && loaded.length > 0 && (
        <div class="portal-scroll" role="region" tabIndex={0} aria-label="Table of deliveries">
          <table class="portal-table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Command and person</th>
                <th scope="col">Outcome</th>
                <th scope="col">HTTP status</th>
                <th scope="col">Duration</th>
                <th scope="col">Details</th>
              </tr>
            </thead>
            <tbody>
              {loaded.map((one) => (
                <Row key={one.id} delivery={one} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasMore.value && (
        <div>
          <Button busy={task.busy} onClick={() => read(loaded?.at(-1)?.id)}>
            Show older deliveries
          </Button>
        </div>
      )}
    </section>
  );
}
