import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { PendingSignIn } from '../../../lib/contract/sign-in.ts';
import { ApiError, call } from '../api/call.ts';
import { instance, loadInstance } from '../state/instance.ts';
import { loginPath, me, restore } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { Form, TextField, useForm } from '../ui/form.tsx';
import { Spinner } from '../ui/loading.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
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
  const form = useForm({ username: pending.username ?? '', displayName: pending.displayName ?? '' });
  const create = async (): Promise<void> => {
    const { username, displayName } = form.now;
    await call('POST', '/api/auth/oidc/account', { username, ...(displayName !== '' && { displayName }) });
    await restore();
    onDone();
  };
  return (
    <Form form={form} run={create} action="Create account" stacked more={<Button onClick={onSwitch}>I already have an account</Button>}>
      <h1>Create an account</h1>
      <p>You logged in with {name} for the first time. It will log you in to this account from now on.</p>
      <NewNamesFields field={form.field} />
    </Form>
  );
}

/** Links the pending sign-in to an account: that of the logged-in user, or of the entered username. */
function LinkForm({ name, onDone, onSwitch }: FormProps & { onSwitch: (() => void) | null }): JSX.Element {
  const form = useForm({ username: '', password: '', code: '' });
  const needsCode = useSignal(false);
  const user = me.value;
  const link = async (): Promise<void> => {
    const { username, password, code } = form.now;
    const proof = { password, ...(code !== '' && { code }) };
    const request = user ? call('PUT', '/api/users/@me/sign-in', proof) : call('POST', '/api/auth/oidc/link', { username, ...proof });
    await request.catch((fault: unknown) => {
      if (fault instanceof ApiError && (fault.code === 'two_factor_required' || fault.at('/code') !== undefined)) needsCode.value = true;
      throw fault;
    });
    if (!user) await restore();
    onDone();
  };
  const more = (
    <>
      {user && <Button onClick={onDone}>Cancel</Button>}
      {onSwitch && <Button onClick={onSwitch}>Create a new account</Button>}
    </>
  );
  return (
    <Form form={form} run={link} action="Link account" stacked more={more}>
      <h1>{user ? `Link ${name} to ${user.username}?` : 'Link your account'}</h1>
      <p>Confirm your password. From then on, {name} logs you in to this account, too.</p>
      {user ? (
        <input type="text" hidden autocomplete="username" value={user.username} readOnly />
      ) : (
        <TextField label="Username" required autocomplete="username" {...form.bind('username')} />
      )}
      <TextField label="Password" type="password" required autocomplete="current-password" {...form.field('password')} />
      {needsCode.value && <CodeField autofocus {...form.field('code')} />}
    </Form>
  );
}

/** The page on which a sign-in by OpenID Connect goes on that belongs to no account yet, or has failed (`/sign-in?error=…`). */
export function SignInPage(): JSX.Element {
  const isLinking = useSignal(false);
  const { path, proceed } = useNext();
  const { error: fault } = useLocation().query;
  const pending = useLoaded(async () => {
    await loadInstance();
    return fault === undefined ? call<PendingSignIn>('GET', '/api/auth/oidc/pending') : undefined;
  }, [fault]);
  const signIn = instance.value?.signIn;
  const name = signIn?.name ?? 'SSO';
  if (fault !== undefined && instance.value) return <Failed name={name} fault={fault} path={path} />;
  if (!pending.value)
    return (
      <Entry heading={`Log in with ${name}`}>
        {pending.error ? <ErrorNotice error={pending.error} /> : <Spinner />}
        {pending.error && <ProviderLink path={path}>Start again</ProviderLink>}
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
