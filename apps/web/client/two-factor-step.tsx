import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { TextField, useTask } from '../ui/form.tsx';

/** The field for a code of an authenticator app or, by its default label, also a recovery code. */
export function CodeField({
  label = 'Code from your authenticator app or a recovery code',
  ...rest
}: {
  label?: string;
  autofocus?: boolean;
  value: string;
  onValue: (value: string) => void;
  error?: string | undefined;
}): JSX.Element {
  return <TextField label={label} required autocomplete="one-time-code" maxLength={64} {...rest} />;
}

/** The second step of a login with two-factor authentication: asks for a code, and calls `submit` with it. */
export function TwoFactorStep({
  submit,
  proceed,
  onBack,
}: {
  submit: (code: string) => Promise<unknown>;
  proceed: () => void;
  onBack: () => void;
}): JSX.Element {
  const code = useSignal('');
  const task = useTask();
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(() => submit(code.value)).then((done) => done && proceed());
  };
  return (
    <main class="entry">
      <form class="form" onSubmit={send}>
        <h1>Enter a code</h1>
        <p>Two-factor authentication is on for this account.</p>
        <CodeField autofocus value={code.value} onValue={(value) => (code.value = value)} />
        <ErrorNotice error={task.error} />
        <Button type="submit" variant="main" busy={task.busy}>
          Log in
        </Button>
        <Button onClick={onBack}>Back</Button>
        <p class="soft">If you have lost both your app and your recovery codes, ask the operator of this installation.</p>
      </form>
    </main>
  );
}
