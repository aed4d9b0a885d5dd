import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Webhook } from '../../../../../lib/contract/webhook.ts';
import { call, path } from '../../../api/call.ts';
import { Button } from '../../../ui/button.tsx';
import { CopyButton } from '../../../ui/copy.tsx';
import { ConfirmButton } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/form.tsx';
import { shortMomentOf } from '../../../ui/times.ts';
import { DraftForm, useDraft } from '../draft.tsx';
import { DeliveryLog } from './delivery-log.tsx';

/** A secret URL: shown as dots until it is revealed. It can be copied without revealing it. */
function Secret({ label, text, isRevealed }: { label: string; text: string; isRevealed: boolean }): JSX.Element {
  return (
    <div>
      <strong>{label}</strong>
      <p class="settings-line">
        <code class="settings-grow">{isRevealed ? text : '•'.repeat(32)}</code>
        <CopyButton text={text} what={label.toLowerCase()}>
          Copy
        </CopyButton>
      </p>
    </div>
  );
}

/** One webhook: its name, its secret URLs, its deliveries from code hosts, and its deletion. */
export function WebhookCard({
  webhook,
  onChanged,
  onDeleted,
}: {
  webhook: Webhook;
  onChanged: (webhook: Webhook) => void;
  onDeleted: () => void;
}): JSX.Element {
  const { id, name, url, createdAt } = webhook;
  const heading = useId();
  const isRevealed = useSignal(false);
  const isLogOpen = useSignal(false);
  const draft = useDraft({ name }, true);
  const save = async (): Promise<void> => onChanged(await call<Webhook>('PATCH', path`/api/webhooks/${id}`, draft.patch));
  const reset = async (): Promise<void> => onChanged(await call<Webhook>('POST', path`/api/webhooks/${id}/token`));
  const remove = async (): Promise<void> => {
    await call('DELETE', path`/api/webhooks/${id}`);
    onDeleted();
  };
  return (
    <section class="settings-card" aria-labelledby={heading}>
      <h3 id={heading}>{name}</h3>
      <p class="hint">Created {shortMomentOf(createdAt)}</p>
      {url === null ? (
        <p>The URLs can’t be shown anymore because the server’s key was replaced. They still work. Reset them to get new ones.</p>
      ) : (
        <>
          <Secret label="URL" text={url} isRevealed={isRevealed.value} />
          <Secret label="URL for code hosts" text={`${url}/codehost`} isRevealed={isRevealed.value} />
        </>
      )}
      <div>
        {url !== null && (
          <Button aria-pressed={isRevealed.value} onClick={() => (isRevealed.value = !isRevealed.value)}>
            {isRevealed.value ? 'Hide URLs' : 'Show URLs'}
          </Button>
        )}
        <ConfirmButton
          aria-label={`Reset URLs of ${name}`}
          question={`Reset the URLs of ${name}?`}
          text="The old URLs stop working immediately. Replace them wherever they are used."
          action="Reset"
          run={reset}
        >
          Reset URLs
        </ConfirmButton>
      </div>
      <p class="hint">
        For a code host (GitHub, Gitea, Forgejo, Gogs): add a webhook there with the second URL, content type <code>application/json</code>{' '}
        and an empty secret, and choose the events to send. Pushes, pull requests, reviews, issues, comments, releases, finished workflow
        runs, branches, tags, stars and forks are posted here. Other events are ignored.
      </p>
      <details class="webhook-name">
        <summary>Rename</summary>
        <DraftForm draft={draft} save={save}>
          <TextField label="Name" hint="Earlier messages keep the old name." required {...draft.field('name')} />
        </DraftForm>
      </details>
      <details onToggle={({ currentTarget }) => (isLogOpen.value = currentTarget.open)}>
        <summary>Deliveries from code hosts</summary>
        {isLogOpen.value && <DeliveryLog webhookId={id} />}
      </details>
      <div>
        <ConfirmButton
          variant="danger"
          aria-label={`Delete ${name}`}
          question={`Delete ${name}?`}
          text="Its URLs stop working. Its messages are kept."
          action="Delete"
          run={remove}
        >
          Delete
        </ConfirmButton>
      </div>
    </section>
  );
}
