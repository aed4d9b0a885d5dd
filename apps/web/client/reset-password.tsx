import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { PasswordResetPreview } from '../../../lib/contract/auth.ts';
import { call } from '../api/call.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useTask } from '../ui/form.tsx';
import { NewPasswordField } from '../ui/new-password-field.tsx';
import { useCode } from './entry.ts';

/** The page of an operator's link (`/reset-password#code=…`), on which a person chooses a new password. */
export function ResetPasswordPage(): JSX.Element {
  const link = useSignal<{ code: string; username: string } | null>(null);
  const isDone = useSignal(false);
  const password = useSignal('');
  const loading = useTask();
  const saving = useTask();
  useCode((code) => {
    if (code === undefined) return;
    void loading.run(async () => {
      const { user } = await call<PasswordResetPreview>('POST', '/api/auth/password-reset/preview', { code });
      link.value = { code, username: user.username };
    });
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void saving.run(async () => {
      await call('POST', '/api/auth/password-reset', { code: link.value?.code, newPassword: password.value });
      isDone.value = true;
    });
  };
  return (
    <main class="entry">
      <form class="form" onSubmit={submit}>
        <h1>{isDone.value ? 'Password changed' : 'Choose a new password'}</h1>
        <ErrorNotice error={loading.error} />
        {isDone.value && <p>You can log in with the new password now. All sessions of this account have ended.</p>}
        {!isDone.value && !link.value && !loading.error && !loading.busy && <p>Open the link that the operator gave you.</p>}
        {!isDone.value && link.value && (
          <>
            <p>
              For the account <strong>{link.value.username}</strong>.
            </p>
            <NewPasswordField
              label="New password"
              value={password.value}
              onValue={(value) => (password.value = value)}
              error={saving.error?.at('/newPassword')}
            />
            <ErrorNotice error={saving.error} shown={['/newPassword']} />
            <Button type="submit" variant="main" busy={saving.busy}>
              Save password
            </Button>
          </>
        )}
        <p>
          <a href="/login">Log in</a>
        </p>
      </form>
    </main>
  );
}
