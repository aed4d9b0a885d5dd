import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { MessagesChoice, OwnDeletion } from '../../../../lib/contract/account-deletion.ts';
import { call } from '../../api/call.ts';
import { deletionPath, requestDeletion } from '../../state/account-deletion.ts';
import { servers } from '../../state/servers.ts';
import { me, myId } from '../../state/session.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { SelectField, useTask } from '../../ui/form.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { needsLogin, OwnCodeField, OwnPasswordField, toCode } from './own-password-field.tsx';

const choices: readonly { value: MessagesChoice; label: string }[] = [
  { value: 'keep', label: 'Keep my messages, shown as from a deleted account' },
  { value: 'delete', label: 'Delete all my messages and their files' },
];

/** When the account is deleted after a request, as a sentence. */
const describeGrace = (days: number): string =>
  days === 0
    ? 'Your account is deleted immediately.'
    : `Your account is deleted ${days} ${days === 1 ? 'day' : 'days'} after you confirm. Until then you can log in and keep it.`;

/** The dialog that asks for the choice and the password. */
function DeleteDialog({ graceDays, onClose }: { graceDays: number; onClose: () => void }): JSX.Element {
  const messages = useSignal<MessagesChoice>('keep');
  const password = useSignal('');
  const code = useSignal('');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task
      .run(() => requestDeletion({ password: password.value, messages: messages.value, ...toCode(code) }))
      .then((done) => done && onClose());
  };
  return (
    <Dialog title="Delete your account?" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>{describeGrace(graceDays)} You are logged out on all other devices now.</p>
        <SelectField
          label="Your messages"
          hint="This applies to all servers and direct messages."
          value={messages.value}
          onValue={(value) => (messages.value = value)}
          options={choices}
        />
        <OwnPasswordField
          label="Your password"
          value={password.value}
          onValue={(value) => (password.value = value)}
          error={task.error?.at('/password')}
        />
        <OwnCodeField code={code} error={task.error} />
        <ErrorNotice error={task.error} shown={['/password', '/code']} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="danger" busy={task.busy} disabled={needsLogin()}>
            Delete my account
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The servers that the user must transfer or delete first, with links to their settings; or the button that asks for the deletion. */
function DeleteOrTransfer({ graceDays }: OwnDeletion): JSX.Element {
  const isAsking = useSignal(false);
  const owned = [...servers.value.values()].filter(({ ownerId }) => ownerId === myId());
  if (owned.length > 0)
    return (
      <>
        <p>You own these servers. Transfer or delete them first:</p>
        <ul class="settings-list">
          {owned.map(({ id, name }) => (
            <li key={id} class="settings-row">
              <a href={`/servers/${id}/settings/overview`}>{name}</a>
            </li>
          ))}
        </ul>
      </>
    );
  return (
    <>
      <Button variant="danger" onClick={() => (isAsking.value = true)}>
        Delete account
      </Button>
      {isAsking.value && <DeleteDialog graceDays={graceDays} onClose={() => (isAsking.value = false)} />}
    </>
  );
}

/** The section of the account page with which the user deletes the account. While a deletion is scheduled, the banner above the page says so. */
export function DeleteAccount(): JSX.Element {
  const loaded = useLoaded<OwnDeletion>((signal) => call('GET', deletionPath, undefined, { signal }), []);
  const current = loaded.value;
  const isScheduled = me.value?.deletion !== undefined;
  return (
    <section class="settings-block" aria-labelledby="delete-account">
      <h3 id="delete-account">Delete account</h3>
      <ErrorNotice error={loaded.error} retry={loaded.reload} />
      {!current && !loaded.error && <p class="spinner">Loading…</p>}
      {isScheduled && <p>The deletion of your account is scheduled. To cancel it, use “Keep my account” above.</p>}
      {current && !isScheduled && (
        <>
          <p class="soft">
            {describeGrace(current.graceDays)} Then you leave all servers, and your profile and your bots are deleted. Your messages stay or
            are deleted, as you choose. Your reactions stay, and others can take your username. This cannot be undone.
          </p>
          <DeleteOrTransfer {...current} />
        </>
      )}
    </section>
  );
}
