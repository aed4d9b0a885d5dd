import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ErrorBoundary, LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso';
import { type ApiError, asApiError } from '../api/call.ts';
import { me, restore } from '../state/session.ts';
import { Problem } from '../ui/problem.tsx';
import { Toasts } from '../ui/toast.tsx';
import { Shell } from './shell.tsx';

const LoginPage = lazy(() => import('./login.tsx').then((page) => page.LoginPage));
const RegisterPage = lazy(() => import('./login.tsx').then((page) => page.RegisterPage));
const InvitePage = lazy(() => import('./invite.tsx').then((page) => page.InvitePage));

/** The portal is a page of its own, and files are no pages. */
const ours = /^\/(?!developers|api|files|images)/;

/** The pages that need no login. */
const openPages = /^\/(login|register|invite)(\/|$)/;

/** The first parts of the client's paths. */
const knownPages = /^\/(?:(?:login|register|invite|servers|dms|discovery|apps|settings)(?:\/|$)|$)/;

/** A path that leads nowhere, for who is not logged in. */
function NoPage(): JSX.Element {
  return (
    <main class="entry">
      <div class="form">
        <h1>Page not found</h1>
        <p>This page doesn’t exist.</p>
        <a href="/">Go to the start page</a>
      </div>
    </main>
  );
}

/** A page of who is logged in stands in the frame; others stand alone. The frame has a router of its own, and one inside another would see no path. */
function Pages(): JSX.Element {
  const { path } = useLocation();
  if (me.value && !openPages.test(path)) return <Shell />;
  if (!knownPages.test(path)) return <NoPage />;
  return (
    <Router>
      <Route path="/register" component={RegisterPage} />
      <Route path="/invite/:code" component={InvitePage} />
      <Route default component={LoginPage} />
    </Router>
  );
}

/** The people's client: who is not logged in sees the login, an invite or the register page. */
export function App(): JSX.Element {
  const fault = useSignal<ApiError | null>(null);
  const begin = (): void => {
    fault.value = null;
    restore().catch((error: unknown) => {
      fault.value = asApiError(error);
    });
  };
  useEffect(begin, []);
  if (fault.value) return <Problem error={fault.value} again={begin} />;
  if (me.value === undefined) return <p class="spinner">Loading …</p>;
  return (
    <LocationProvider scope={ours}>
      <ErrorBoundary>
        <Pages />
      </ErrorBoundary>
      <Toasts />
    </LocationProvider>
  );
}
