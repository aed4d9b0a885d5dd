import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { OwnSession } from '../../../../lib/contract/auth.ts';
import { ApiError, call, path } from '../../api/call.ts';
import { loadOwnSignIn, ownSignIn } from '../../state/sign-in.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { TextField, useTask } from '../../ui/form.tsx';
import { NewPasswordField } from '../../ui/new-password-field.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { DataExport } from './data-export.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { needsLogin, OwnCodeField, OwnPasswordField, toCode, useOwnSignIn } from './own-password-field.tsx';
import { SignInSection } from './sign-in.tsx';
import { TwoFactorSection } from './two-factor.tsx';

const sessionsPath = '/api/users/@me/sessions';

function PasswordForm({ onChanged }: { onChanged: () => void }): JSX.Element {
  const current = useSignal('');
  const next = useSignal('');
  const repeated = useSignal('');
  const code = useSignal('');
  const task = useTask();
  const change = async (): Promise<void> => {
    if (next.value !== repeated.value)
      throw new ApiError(0, {
        message: 'The new passwords don’t match.',
        errors: [{ path: '/repeated', message: 'Enter the same password again.' }],
      });
    await call('PUT', '/api/users/@me/password', { currentPassword: current.value, newPassword: next.value, ...toCode(code) });
    await loadOwnSignIn().catch(() => undefined); // the password is changed anyway
  };
  const isFirst = ownSignIn.value?.hasPassword === false;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(change).then((done) => {
      if (!done) return;
      current.value = next.value = repeated.value = code.value = '';
      showToast('Password changed. All other devices have been logged out.');
      onChanged();
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <h3>{isFirst ? 'Set a password' : 'Change password'}</h3>
      <p class="soft">This logs you out on all other devices.</p>
      <OwnPasswordField
        label="Current password"
        value={current.value}
        onValue={(value) => (current.value = value)}
        error={task.error?.at('/currentPassword')}
      />
      <NewPasswordField
        label="New password"
        value={next.value}
        onValue={(value) => (next.value = value)}
        error={task.error?.at('/newPassword')}
      />
      <TextField
        label="Confirm new password"
        type="password"
        required
        autocomplete="new-password"
        value={repeated.value}
        onValue={(value) => (repeated.value = value)}
        error={task.error?.at('/repeated')}
      />
      <OwnCodeField code={code} error={task.error} />
      <ErrorNotice error={task.error} shown={['/currentPassword', '/newPassword', '/repeated', '/code']} />
      <div class="actions">
        <Button type="submit" variant="main" busy={task.busy} disabled={needsLogin()}>
          {isFirst ? 'Set password' : 'Change password'}
        </Button>
      </div>
    </form>
  );
}

function SessionRow({ session, onLogOut }: { session: OwnSession; onLogOut: () => void }): JSX.Element {
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
        <Button aria-label={`Log out ${device}`} onClick={onLogOut}>
          Log out
        </Button>
      )}
    </li>
  );
}

/** The account page: the user's sessions, sign-in, password, two-factor authentication and data, and the deletion of the account. */
export function AccountPage(): JSX.Element {
  const sessions = useLoaded<OwnSession[]>((signal) => call('GET', sessionsPath, undefined, { signal }), []);
  useOwnSignIn();
  const loggingOut = useSignal<OwnSession | 'others' | null>(null);
  const list = sessions.value && [...sessions.value].sort((one, other) => Number(other.current) - Number(one.current));
  const close = (): void => {
    loggingOut.value = null;
  };
  const logOut = async (): Promise<void> => {
    const target = loggingOut.value;
    if (target === null) return;
    if (target === 'others') await call('DELETE', sessionsPath);
    else
      await call('DELETE', path`/api/users/@me/sessions/${target.id}`).catch((fault: unknown) => {
        if (!(fault instanceof ApiError) || fault.status !== 404) throw fault; // the session has already ended
      });
    sessions.set((list ?? []).filter(({ id, current }) => current || (target !== 'others' && id !== target.id)));
    showToast(target === 'others' ? 'All other devices have been logged out.' : 'The device has been logged out.');
  };
  return (
    <>
      <section class="settings-block" aria-labelledby="devices">
        <h3 id="devices">Devices</h3>
        <p class="soft">You are logged in on these devices. Log out any that you don’t recognize, then change your password.</p>
        <ErrorNotice error={sessions.error} retry={sessions.reload} />
        {!list && !sessions.error && <p class="spinner">Loading…</p>}
        <ul class="settings-list">
          {list?.map((session) => (
            <SessionRow key={session.id} session={session} onLogOut={() => (loggingOut.value = session)} />
          ))}
        </ul>
        {list && list.length > 1 && (
          <Button variant="danger" onClick={() => (loggingOut.value = 'others')}>
            Log out all other devices
          </Button>
        )}
      </section>
      <PasswordForm onChanged={sessions.reload} />
      <TwoFactorSection onTurnedOn={sessions.reload} />
      <SignInSection />
      <DataExport />
      <DeleteAccount />
      {loggingOut.value && (
        <Confirm
          title={loggingOut.value === 'others' ? 'Log out all other devices?' : `Log out ${loggingOut.value.device}?`}
          action="Log out"
          run={logOut}
          onClose={close}
        >
          <p>{loggingOut.value === 'others' ? 'You stay logged in on this device.' : 'The device is logged out immediately.'}</p>
        </Confirm>
      )}
    </>
  );
}
