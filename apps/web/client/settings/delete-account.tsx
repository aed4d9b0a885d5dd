import type { JSX } from 'preact';
import type { MessagesChoice, OwnDeletion } from '../../../../lib/contract/account-deletion.ts';
import { deletionPath, requestDeletion } from '../../state/account-deletion.ts';
import { servers } from '../../state/servers.ts';
import { me, myId } from '../../state/session.ts';
import { DialogButton, FormDialog } from '../../ui/dialog.tsx';
import { SelectField, useForm } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useGet } from '../../ui/use-loaded.ts';
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
  const form = useForm<{ messages: MessagesChoice; password: string; code: string }>({ messages: 'keep', password: '', code: '' });
  const { messages, password, code } = form.now;
  const request = async (): Promise<void> => {
    await requestDeletion({ password, messages, ...toCode(code) });
    onClose();
  };
  return (
    <FormDialog
      title="Delete your account?"
      onClose={onClose}
      form={form}
      run={request}
      action="Delete my account"
      variant="danger"
      disabled={needsLogin()}
    >
      <p>{describeGrace(graceDays)} You are logged out on all other devices now.</p>
      <SelectField
        label="Your messages"
        hint="This applies to all servers and direct messages."
        options={choices}
        {...form.bind('messages')}
      />
      <OwnPasswordField label="Your password" {...form.field('password')} />
      <OwnCodeField {...form.field('code')} />
    </FormDialog>
  );
}

/** The servers that the user must transfer or delete first, with links to their settings; or the button that asks for the deletion. */
function DeleteOrTransfer({ graceDays }: OwnDeletion): JSX.Element {
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
    <DialogButton variant="danger" dialog={(close) => <DeleteDialog graceDays={graceDays} onClose={close} />}>
      Delete account
    </DialogButton>
  );
}

/** The section of the account page with which the user deletes the account. While a deletion is scheduled, the banner above the page says so. */
export function DeleteAccount(): JSX.Element {
  const loaded = useGet<OwnDeletion>(deletionPath);
  const current = loaded.value;
  const isScheduled = me.value?.deletion !== undefined;
  return (
    <section class="settings-block" aria-labelledby="delete-account">
      <h3 id="delete-account">Delete account</h3>
      <Loading of={loaded} />
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
