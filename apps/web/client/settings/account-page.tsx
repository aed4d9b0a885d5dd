import type { JSX } from 'preact';
import type { OwnSession } from '../../../../lib/contract/auth.ts';
import { ApiError, call, path } from '../../api/call.ts';
import { loadOwnSignIn, ownSignIn } from '../../state/sign-in.ts';
import { ConfirmButton } from '../../ui/dialog.tsx';
import { Form, TextField, useForm } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { NewPasswordField } from '../../ui/new-password-field.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useGet } from '../../ui/use-loaded.ts';
import { DataExport } from './data-export.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { needsLogin, OwnCodeField, OwnPasswordField, toCode, useOwnSignIn } from './own-password-field.tsx';
import { SignInSection } from './sign-in.tsx';
import { TwoFactorSection } from './two-factor.tsx';

const sessionsPath = '/api/users/@me/sessions';

function PasswordForm({ onChanged }: { onChanged: () => void }): JSX.Element {
  const empty = { currentPassword: '', newPassword: '', repeated: '', code: '' };
  const form = useForm(empty);
  const { currentPassword, newPassword, repeated, code } = form.now;
  const change = async (): Promise<void> => {
    if (newPassword !== repeated)
      throw new ApiError(0, {
        message: 'The new passwords don’t match.',
        errors: [{ path: '/repeated', message: 'Enter the same password again.' }],
      });
    await call('PUT', '/api/users/@me/password', { currentPassword, newPassword, ...toCode(code) });
    await loadOwnSignIn().catch(() => undefined); // the password is changed anyway
    form.set(empty);
    showToast('Password changed. All other devices have been logged out.');
    onChanged();
  };
  const isFirst = ownSignIn.value?.hasPassword === false;
  return (
    <Form form={form} run={change} action={isFirst ? 'Set password' : 'Change password'} disabled={needsLogin()}>
      <h3>{isFirst ? 'Set a password' : 'Change password'}</h3>
      <p class="soft">This logs you out on all other devices.</p>
      <OwnPasswordField label="Current password" {...form.field('currentPassword')} />
      <NewPasswordField label="New password" {...form.field('newPassword')} />
      <TextField label="Confirm new password" type="password" required autocomplete="new-password" {...form.field('repeated')} />
      <OwnCodeField {...form.field('code')} />
    </Form>
  );
}

function SessionRow({ session, logOut }: { session: OwnSession; logOut: () => Promise<void> }): JSX.Element {
  const { device, address, lastUsedAt, current } = session;
  return (
    <li class="settings-row">
      <span class="settings-row-text">
        <strong>{device}</strong>
        <span class="settings-sub">
          {address !== null && `${address} · `}
          {current ? 'This device' : <time dateTime={lastUsedAt}>Last active: {shortMomentOf(lastUsedAt)}</time>}
        </span>
      </span>
      {!current && (
        <ConfirmButton
          aria-label={`Log out ${device}`}
          question={`Log out ${device}?`}
          text="The device is logged out immediately."
          action="Log out"
          run={logOut}
        >
          Log out
        </ConfirmButton>
      )}
    </li>
  );
}

/** The account page: the user's sessions, sign-in, password, two-factor authentication and data, and the deletion of the account. */
export function AccountPage(): JSX.Element {
  const sessions = useGet<OwnSession[]>(sessionsPath);
  useOwnSignIn();
  const list = sessions.value?.toSorted((one, other) => Number(other.current) - Number(one.current));
  const logOut = async ({ id }: OwnSession): Promise<void> => {
    await call('DELETE', path`/api/users/@me/sessions/${id}`).catch((fault: unknown) => {
      if (!(fault instanceof ApiError) || fault.status !== 404) throw fault; // the session has already ended
    });
    sessions.set((list ?? []).filter((one) => one.current || one.id !== id));
    showToast('The device has been logged out.');
  };
  const logOutOthers = async (): Promise<void> => {
    await call('DELETE', sessionsPath);
    sessions.set((list ?? []).filter(({ current }) => current));
    showToast('All other devices have been logged out.');
  };
  return (
    <>
      <section class="settings-block" aria-labelledby="devices">
        <h3 id="devices">Devices</h3>
        <p class="soft">You are logged in on these devices. Log out any that you don’t recognize, then change your password.</p>
        <Loading of={sessions} />
        <ul class="settings-list">
          {list?.map((session) => (
            <SessionRow key={session.id} session={session} logOut={() => logOut(session)} />
          ))}
        </ul>
        {list && list.length > 1 && (
          <ConfirmButton
            variant="danger"
            question="Log out all other devices?"
            text="You stay logged in on this device."
            action="Log out"
            run={logOutOthers}
          >
            Log out all other devices
          </ConfirmButton>
        )}
      </section>
      <PasswordForm onChanged={sessions.reload} />
      <TwoFactorSection onTurnedOn={sessions.reload} />
      <SignInSection />
      <DataExport />
      <DeleteAccount />
    </>
  );
}
