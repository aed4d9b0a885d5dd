import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { PendingSignIn } from '../../../lib/contract/sign-in.ts';
import { ApiError, call } from '../api/call.ts';
import { instance, loadInstance } from '../state/instance.ts';
import { loginPath, me, restore } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { TextField, useTask } from '../ui/form.tsx';
import { useNext } from './entry.ts';
import { NewNamesFields } from './new-names-fields.tsx';
import { ProviderLink } from './provider-link.tsx';
import { CodeField } from './two-factor-step.tsx';

/** What is said about each way in which a sign-in fails. `name` is that of the provider. */
const faultTexts: Record<string, (name: string) => string> = {
  expired: () => 'The login took too long, or you began it in another browser. Start it again.',
  denied: (name) => `${name} didn’t log you in, or you cancelled the login.`,
  invalid: (name) => `The answer of ${name} couldn’t be verified. Start the login again.`,
  unavailable: (name) => `${name} isn’t responding. Try again in a moment.`,
  rate_limited: () => 'There were too many logins from your network. Try again in a minute.',
  account_suspended: () => 'Your account is suspended. Ask an operator of this installation.',
  already_linked: (name) => `This ${name} account is already linked to an account here.`,
};

function Entry({ heading, children }: { heading: string; children: ComponentChildren }): JSX.Element {
  return (
    <main class="entry">
      <div class="form">
        <h1>{heading}</h1>
        {children}
      </div>
    </main>
  );
}

/** Says why a sign-in failed, and how to go on. */
function Failed({ name, fault, path }: { name: string; fault: string; path: string }): JSX.Element {
  const describe = faultTexts[fault];
  return (
    <Entry heading={`Login with ${name} failed`}>
      <div class="error-notice" role="alert">
        <p>{describe ? describe(name) : 'Start the login again.'}</p>
      </div>
      {me.value ? (
        <a class="button main" href={path}>
          Back to Parlance
        </a>
      ) : (
        <>
          <ProviderLink path={path}>Try again</ProviderLink>
          <p>
            <a href={loginPath(path)}>Log in with a password</a>
          </p>
        </>
      )}
    </Entry>
  );
}

interface FormProps {
  name: string;
  onDone: () => void;
}

/** Creates an account for the pending sign-in. */
function NewAccountForm({ name, onDone, pending, onSwitch }: FormProps & { pending: PendingSignIn; onSwitch: () => void }): JSX.Element {
  const username = useSignal(pending.username ?? '');
  const displayName = useSignal(pending.displayName ?? '');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const body = { username: username.value, ...(displayName.value !== '' && { displayName: displayName.value }) };
    void task.run(() => call('POST', '/api/auth/oidc/account', body).then(restore)).then((done) => done && onDone());
  };
  return (
    <form class="form" onSubmit={submit}>
      <h1>Create an account</h1>
      <p>You logged in with {name} for the first time. It will log you in to this account from now on.</p>
      <NewNamesFields username={username} displayName={displayName} error={task.error} />
      <ErrorNotice error={task.error} shown={['/username', '/displayName']} />
      <Button type="submit" variant="main" busy={task.busy}>
        Create account
      </Button>
      <Button onClick={onSwitch}>I already have an account</Button>
    </form>
  );
}

/** Links the pending sign-in to an account: that of the logged-in user, or of the entered username. */
function LinkForm({ name, onDone, onSwitch }: FormProps & { onSwitch: (() => void) | null }): JSX.Element {
  const username = useSignal('');
  const password = useSignal('');
  const code = useSignal<string | null>(null);
  const task = useTask();
  const user = me.value;
  const link = async (): Promise<void> => {
    const proof = { password: password.value, ...(code.value && { code: code.value }) };
    const request = user
      ? call('PUT', '/api/users/@me/sign-in', proof)
      : call('POST', '/api/auth/oidc/link', { username: username.value, ...proof });
    await request.catch((fault: unknown) => {
      if (fault instanceof ApiError && (fault.code === 'two_factor_required' || fault.at('/code') !== undefined)) code.value ??= '';
      throw fault;
    });
    return user ? undefined : restore();
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(link).then((done) => done && onDone());
  };
  return (
    <form class="form" onSubmit={submit}>
      <h1>{user ? `Link ${name} to ${user.username}?` : 'Link your account'}</h1>
      <p>Confirm your password. From then on, {name} logs you in to this account, too.</p>
      {user ? (
        <input type="text" hidden autocomplete="username" value={user.username} readOnly />
      ) : (
        <TextField label="Username" required autocomplete="username" value={username.value} onValue={(value) => (username.value = value)} />
      )}
      <TextField
        label="Password"
        type="password"
        required
        autocomplete="current-password"
        value={password.value}
        onValue={(value) => (password.value = value)}
        error={task.error?.at('/password')}
      />
      {code.value !== null && (
        <CodeField autofocus value={code.value} onValue={(value) => (code.value = value)} error={task.error?.at('/code')} />
      )}
      <ErrorNotice error={task.error} shown={['/password', '/code']} />
      <Button type="submit" variant="main" busy={task.busy}>
        Link account
      </Button>
      {user && <Button onClick={onDone}>Cancel</Button>}
      {onSwitch && <Button onClick={onSwitch}>Create a new account</Button>}
    </form>
  );
}

/** The page on which a sign-in by OpenID Connect goes on that belongs to no account yet, or has failed (`/sign-in?error=…`). */
export function SignInPage(): JSX.Element {
  const pending = useSignal<PendingSignIn | null>(null);
  const isLinking = useSignal(false);
  const loading = useTask();
  const { path, proceed } = useNext();
  const { error: fault } = useLocation().query;
  const load = (): void =>
    void loading.run(async () => {
      await loadInstance();
      if (fault === undefined) pending.value = await call<PendingSignIn>('GET', '/api/auth/oidc/pending');
    });
  useEffect(load, [fault]);
  const signIn = instance.value?.signIn;
  const name = signIn?.name ?? 'SSO';
  if (fault !== undefined && instance.value) return <Failed name={name} fault={fault} path={path} />;
  if (!pending.value)
    return (
      <Entry heading={`Log in with ${name}`}>
        {loading.error ? <ErrorNotice error={loading.error} /> : <p class="spinner">Loading…</p>}
        {loading.error && <ProviderLink path={path}>Start again</ProviderLink>}
      </Entry>
    );
  const toggle = (): void => {
    isLinking.value = !isLinking.value;
  };
  const canCreate = signIn?.canCreate === true && !me.value;
  return (
    <main class="entry">
      {canCreate && !isLinking.value ? (
        <NewAccountForm name={name} pending={pending.value} onDone={proceed} onSwitch={toggle} />
      ) : (
        <LinkForm name={name} onDone={proceed} onSwitch={canCreate ? toggle : null} />
      )}
    </main>
  );
}
