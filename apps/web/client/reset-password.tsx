import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { PasswordResetPreview } from '../../../lib/contract/auth.ts';
import { call } from '../api/call.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { Form, useForm, useTask } from '../ui/form.tsx';
import { NewPasswordField } from '../ui/new-password-field.tsx';
import { useCode } from './entry.ts';

/** The page of an operator's link (`/reset-password#code=…`), on which a person chooses a new password. */
export function ResetPasswordPage(): JSX.Element {
  const link = useSignal<{ code: string; username: string } | null>(null);
  const isDone = useSignal(false);
  const form = useForm({ newPassword: '' });
  const loading = useTask();
  useCode((code) => {
    if (code === undefined) return;
    void loading.run(async () => {
      const { user } = await call<PasswordResetPreview>('POST', '/api/auth/password-reset/preview', { code });
      link.value = { code, username: user.username };
    });
  });
  const save = async (): Promise<void> => {
    await call('POST', '/api/auth/password-reset', { code: link.value?.code, ...form.now });
    isDone.value = true;
  };
  const heading = <h1>{isDone.value ? 'Password changed' : 'Choose a new password'}</h1>;
  const logIn = (
    <p>
      <a href="/login">Log in</a>
    </p>
  );
  if (isDone.value || !link.value)
    return (
      <main class="entry">
        <div class="form">
          {heading}
          <ErrorNotice error={loading.error} />
          {isDone.value && <p>You can log in with the new password now. All sessions of this account have ended.</p>}
          {!isDone.value && !loading.error && !loading.busy && <p>Open the link that the operator gave you.</p>}
          {logIn}
        </div>
      </main>
    );
  return (
    <main class="entry">
      <Form form={form} run={save} action="Save password" stacked more={logIn}>
        {heading}
        <ErrorNotice error={loading.error} />
        <p>
          For the account <strong>{link.value.username}</strong>.
        </p>
        <NewPasswordField label="New password" {...form.field('newPassword')} />
      </Form>
    </main>
  );
}
