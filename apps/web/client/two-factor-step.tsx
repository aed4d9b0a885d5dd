import type { JSX } from 'preact';
import { Button } from '../ui/button.tsx';
import { Form, TextField, type TextProps, useForm } from '../ui/form.tsx';

/** The field for a code of an authenticator app or, by its default label, also a recovery code. */
export function CodeField({
  label = 'Code from your authenticator app or a recovery code',
  ...rest
}: Omit<TextProps, 'label'> & { label?: string }): JSX.Element {
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
  const form = useForm({ code: '' });
  const run = async (): Promise<void> => {
    await submit(form.now.code);
    proceed();
  };
  const more = (
    <>
      <Button onClick={onBack}>Back</Button>
      <p class="soft">If you have lost both your app and your recovery codes, ask the operator of this installation.</p>
    </>
  );
  return (
    <main class="entry">
      <Form form={form} run={run} action="Log in" stacked more={more}>
        <h1>Enter a code</h1>
        <p>Two-factor authentication is on for this account.</p>
        <CodeField autofocus {...form.bind('code')} />
      </Form>
    </main>
  );
}
