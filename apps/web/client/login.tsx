import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { LoginCodePreview } from '../../../lib/contract/auth.ts';
import type { UserSummary } from '../../../lib/contract/user.ts';
import { ApiError, call } from '../api/call.ts';
import { instance, loadInstance } from '../state/instance.ts';
import { login, me, registerPath } from '../state/session.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { Form, TextField, useForm, useTask } from '../ui/form.tsx';
import { Spinner } from '../ui/loading.tsx';
import { hasCode, useCode, useNext } from './entry.ts';
import { ProviderLink } from './provider-link.tsx';
import { TwoFactorStep } from './two-factor-step.tsx';

/** A login link that was opened: its code, and the account that it logs in. */
interface OpenedLink {
  code: string;
  user: UserSummary;
}

/**
 * Asks for confirmation before a login link logs in, and says which account it would log out, because the sender of a link must not decide which account is
 * used here.
 */
function LoginLinkConfirmation({
  link,
  onDecline,
  proceed,
  path,
}: {
  link: OpenedLink;
  onDecline: () => void;
  proceed: () => void;
  path: string;
}): JSX.Element {
  const task = useTask();
  const { user } = link;
  const currentUser = me.value;
  const isSwitch = currentUser != null && currentUser.id !== user.id;
  const accept = (): void =>
    void task
      .run(() => login({ code: link.code }))
      .then((done) => {
        if (!done) return;
        // Reload the page to drop the state of the other account.
        if (isSwitch) location.replace(path);
        else proceed();
      });
  return (
    <main class="entry">
      <div class="form">
        <h1>{isSwitch ? 'Switch accounts?' : `Continue as ${user.displayName}?`}</h1>
        <p class="invited">
          <Avatar id={user.id} name={user.displayName} url={user.avatarUrl} size={56} />
          <span>
            <strong>{user.displayName}</strong>
            <br />
            <span class="soft">{user.username}</span>
          </span>
        </p>
        {isSwitch ? (
          <p>
            You are logged in as <strong>{currentUser.displayName}</strong> ({currentUser.username}). This login link is for{' '}
            {user.displayName} ({user.username}).
          </p>
        ) : (
          <p>This login link logs you in to this account. Continue only if the account is yours.</p>
        )}
        <ErrorNotice error={task.error} />
        {isSwitch ? (
          <>
            <Button variant="main" onClick={proceed}>
              Stay logged in as {currentUser.displayName}
            </Button>
            <Button busy={task.busy} onClick={accept}>
              Switch to {user.displayName}
            </Button>
          </>
        ) : (
          <>
            <Button variant="main" busy={task.busy} onClick={accept}>
              Continue as {user.displayName}
            </Button>
            <Button onClick={onDecline}>Log in to another account</Button>
          </>
        )}
      </div>
    </main>
  );
}

/** The login page: with username and password, or with the one-time code of a login link (`/login#code=…`). */
export function LoginPage(): JSX.Element {
  const form = useForm({ username: '', password: '' });
  const link = useSignal<OpenedLink | null>(null);
  const needsCode = useSignal(false);
  const isLoadingLink = useSignal(hasCode());
  const { path, proceed } = useNext();
  useCode((code) => {
    if (code !== undefined)
      void form.task
        .run(async () => {
          const { user } = await call<LoginCodePreview>('POST', '/api/auth/codes/preview', { code });
          if (me.value?.id === user.id) proceed();
          else link.value = { code, user };
        })
        .finally(() => (isLoadingLink.value = false));
    else if (me.value && location.pathname === '/login') proceed();
  });
  useEffect(() => void loadInstance().catch(() => undefined), []); // the form works without it
  const logIn = async (): Promise<void> => {
    await login(form.now).catch((fault: unknown) => {
      if (!(fault instanceof ApiError) || fault.code !== 'two_factor_required') throw fault;
      needsCode.value = true;
    });
    if (!needsCode.value) proceed();
  };
  if (isLoadingLink.value)
    return (
      <main class="entry">
        <Spinner />
      </main>
    );
  if (link.value) return <LoginLinkConfirmation link={link.value} path={path} proceed={proceed} onDecline={() => (link.value = null)} />;
  if (needsCode.value)
    return <TwoFactorStep submit={(code) => login({ ...form.now, code })} proceed={proceed} onBack={() => (needsCode.value = false)} />;
  const more = (
    <>
      <ProviderLink path={path} />
      {instance.value?.registration !== 'closed' && (
        <p>
          New here? <a href={registerPath(path)}>Create an account</a>
        </p>
      )}
    </>
  );
  return (
    <main class="entry">
      <Form form={form} run={logIn} action="Log in" stacked more={more}>
        <h1>Log in to Parlance</h1>
        <TextField label="Username" required autocomplete="username" {...form.bind('username')} />
        <TextField label="Password" type="password" required autocomplete="current-password" {...form.bind('password')} />
      </Form>
    </main>
  );
}
