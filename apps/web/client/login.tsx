import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { login, me, register } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { TextField, useTask } from '../ui/form.tsx';
import { Problem } from '../ui/problem.tsx';

/** Where to go after a login: the path that `next` names, if it is one of this page's own; else the start. */
function useNext(): () => void {
  const { query, route } = useLocation();
  return () => {
    const next = query.next ?? '';
    if (/^\/developers(\/|$)/.test(next)) location.assign(next);
    else route(/^\/(?![/\\])/.test(next) ? next : '/', true);
  };
}

/** The one-use code in the fragment, taken out of the address bar at once so that it stays in no history. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined;
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** Logs in by username and password, or by the one-use code of a login link (`/login#code=…`). */
export function LoginPage(): JSX.Element {
  const username = useSignal('');
  const password = useSignal('');
  const task = useTask();
  const goOn = useNext();
  useEffect(() => {
    const code = takeCode();
    if (code !== undefined) void task.run(() => login({ code })).then((done) => done && goOn());
    else if (me.value && location.pathname === '/login') goOn();
  }, []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(() => login({ username: username.value, password: password.value })).then((done) => done && goOn());
  };
  return (
    <main class="entry">
      <form class="form" onSubmit={submit}>
        <h1>Log in to Parlance</h1>
        <TextField label="Username" required autocomplete="username" value={username.value} onValue={(value) => (username.value = value)} />
        <TextField
          label="Password"
          type="password"
          required
          autocomplete="current-password"
          value={password.value}
          onValue={(value) => (password.value = value)}
        />
        <Problem error={task.error} />
        <Button type="submit" look="main" busy={task.busy}>
          Log in
        </Button>
        <p>
          New here? <a href={`/register${location.search}`}>Make an account</a>
        </p>
      </form>
    </main>
  );
}

/** Makes an account, and logs it in. */
export function RegisterPage(): JSX.Element {
  const username = useSignal('');
  const displayName = useSignal('');
  const password = useSignal('');
  const task = useTask();
  const goOn = useNext();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(() => register(username.value, password.value, displayName.value)).then((done) => done && goOn());
  };
  return (
    <main class="entry">
      <form class="form" onSubmit={submit}>
        <h1>Make an account</h1>
        <TextField
          label="Username"
          hint="2 to 32 characters: a-z, 0-9, _ and dots. Others can find you by it."
          required
          autocomplete="username"
          value={username.value}
          onValue={(value) => (username.value = value)}
          error={task.error?.at('/username')}
        />
        <TextField
          label="Display name (optional)"
          value={displayName.value}
          onValue={(value) => (displayName.value = value)}
          error={task.error?.at('/displayName')}
        />
        <TextField
          label="Password"
          hint="At least 8 characters."
          type="password"
          required
          autocomplete="new-password"
          value={password.value}
          onValue={(value) => (password.value = value)}
          error={task.error?.at('/password')}
        />
        <Problem error={task.error} shown={['/username', '/displayName', '/password']} />
        <Button type="submit" look="main" busy={task.busy}>
          Make the account
        </Button>
        <p>
          You have one? <a href={`/login${location.search}`}>Log in</a>
        </p>
      </form>
    </main>
  );
}
