import { useSignal } from '@preact/signals';
import { RotateCw } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { limits } from '../../../lib/base/limits.ts';
import type { Delivery, DeliveryOutcome, DeliveryPage } from '../../../lib/contract/endpoint.ts';
import { call, path, query } from '../api/call.ts';
import { Button } from '../ui/button.tsx';
import { useTask } from '../ui/form.tsx';
import { Icon } from '../ui/icon.tsx';
import { Problem } from '../ui/problem.tsx';
import { shortMomentOf } from '../ui/times.ts';

const outcomes: Record<DeliveryOutcome, { name: string; meaning: string }> = {
  answered: { name: 'Answered', meaning: 'The answer was posted.' },
  deferred: { name: 'Deferred', meaning: 'The person sees that the bot is thinking, for up to 15 minutes.' },
  empty: { name: 'No body', meaning: 'Empty response: the bot had to use the callback URL within 3 seconds.' },
  failed: { name: 'Failed', meaning: 'The response was not valid.' },
};
const pageSize = 20;

function Row({ delivery: { at, outcome, status, ms, reason, interactionId } }: { delivery: Delivery }): JSX.Element {
  return (
    <tr>
      <td>
        <time dateTime={at}>{shortMomentOf(at)}</time>
      </td>
      <td>
        <strong class={`outcome ${outcome}`}>{outcomes[outcome].name}</strong>
      </td>
      <td>{status ?? 'none'}</td>
      <td>{ms} ms</td>
      <td>
        {reason ?? outcomes[outcome].meaning}
        <span class="hint delivery-id">Interaction {interactionId}</span>
      </td>
    </tr>
  );
}

/** The results of the interactions that were sent to the endpoint, newest first, one page at a time. */
export function DeliveryLog({ id }: { id: string }): JSX.Element {
  const items = useSignal<readonly Delivery[] | undefined>(undefined);
  const hasMore = useSignal(false);
  const task = useTask();
  const read = (before?: string): void =>
    void task.run(async () => {
      const page = await call<DeliveryPage>('GET', path`/api/applications/${id}/deliveries` + query({ before, limit: pageSize }));
      items.value = before === undefined ? page.items : [...(items.value ?? []), ...page.items];
      hasMore.value = page.hasMore;
    });
  useEffect(() => read(), []);
  const known = items.value;
  return (
    <section class="portal-section" aria-labelledby="deliveries">
      <div class="portal-top">
        <h2 id="deliveries">Deliveries</h2>
        <Button busy={task.busy} onClick={() => read()}>
          <Icon of={RotateCw} /> Refresh
        </Button>
      </div>
      <p class="hint">The last {limits.deliveriesListed} interactions sent to your endpoint, kept for 7 days. Each is sent once.</p>
      <Problem error={task.error} />
      {known?.length === 0 && <p>Nothing has been sent to an endpoint yet.</p>}
      {known && known.length > 0 && (
        <div class="portal-scroll" role="region" tabIndex={0} aria-label="Table of deliveries">
          <table class="portal-table">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Outcome</th>
                <th scope="col">HTTP status</th>
                <th scope="col">Took</th>
                <th scope="col">Meaning</th>
              </tr>
            </thead>
            <tbody>
              {known.map((one) => (
                <Row key={one.id} delivery={one} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasMore.value && (
        <div>
          <Button busy={task.busy} onClick={() => read(known?.at(-1)?.id)}>
            Show older deliveries
          </Button>
        </div>
      )}
    </section>
  );
}
