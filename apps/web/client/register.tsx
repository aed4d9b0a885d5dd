import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { instance, loadInstance } from '../state/instance.ts';
import { loginPath, register } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useTask } from '../ui/form.tsx';
import { NewPasswordField } from '../ui/new-password-field.tsx';
import { useNext } from './entry.ts';
import { NewNamesFields } from './new-names-fields.tsx';
import { ProviderLink } from './provider-link.tsx';

/** Says why nobody can create an account here, instead of the form. */
function NoRegistration({ isClosed, path }: { isClosed: boolean; path: string }): JSX.Element {
  return (
    <main class="entry">
      <div class="form">
        <h1>{isClosed ? 'Registration is closed' : 'You need an invite'}</h1>
        <p>
          {isClosed
            ? 'Only people with an account can use this installation. Ask its operator for one.'
            : 'To create an account, open an invite link to a server first.'}
        </p>
        <ProviderLink path={path} />
        <p>
          Already have an account? <a href={loginPath(path)}>Log in</a>
        </p>
      </div>
    </main>
  );
}

/** The page that creates an account and logs it in. */
export function RegisterPage(): JSX.Element {
  const username = useSignal('');
  const displayName = useSignal('');
  const password = useSignal('');
  const task = useTask();
  const { path, proceed } = useNext();
  const loading = useTask();
  const load = (): void => void loading.run(loadInstance);
  useEffect(load, []);
  const invite = /^\/invite\/([^/?#]+)/.exec(path)?.[1] ?? null;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(() => register(username.value, password.value, displayName.value, invite)).then((done) => done && proceed());
  };
  const registration = instance.value?.registration;
  if (registration === undefined)
    return (
      <main class="entry">{loading.error ? <ErrorNotice error={loading.error} retry={load} /> : <p class="spinner">Loading…</p>}</main>
    );
  if (registration === 'closed' || (registration === 'invite' && invite === null))
    return <NoRegistration isClosed={registration === 'closed'} path={path} />;
  return (
    <main class="entry">
      <form class="form" onSubmit={submit}>
        <h1>Create an account</h1>
        <NewNamesFields username={username} displayName={displayName} error={task.error} />
        <NewPasswordField
          label="Password"
          value={password.value}
          onValue={(value) => (password.value = value)}
          error={task.error?.at('/password')}
        />
        <ErrorNotice error={task.error} shown={['/username', '/displayName', '/password']} />
        <Button type="submit" variant="main" busy={task.busy}>
          Create account
        </Button>
        <ProviderLink path={path} />
        <p>
          Already have an account? <a href={loginPath(path)}>Log in</a>
        </p>
      </form>
    </main>
  );
}
