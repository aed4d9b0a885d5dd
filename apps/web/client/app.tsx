import type { JSX } from 'preact';
import { ErrorBoundary, LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso';
import { me, restore } from '../state/session.ts';
import { Loading } from '../ui/loading.tsx';
import { Toasts } from '../ui/toast.tsx';
import { UnsavedGuard } from '../ui/unsaved.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { Shell } from './shell.tsx';

const LoginPage = lazy(() => import('./login.tsx').then((page) => page.LoginPage));
const RegisterPage = lazy(() => import('./register.tsx').then((page) => page.RegisterPage));
const ResetPasswordPage = lazy(() => import('./reset-password.tsx').then((page) => page.ResetPasswordPage));
const SignInPage = lazy(() => import('./sign-in.tsx').then((page) => page.SignInPage));
const InvitePage = lazy(() => import('./invite.tsx').then((page) => page.InvitePage));

/** The paths of this client. The developer portal is a separate page, and files and the API are not pages. */
const clientPaths = /^\/(?!developers|api|files|images)/;

/** The paths that need no login. */
const publicPages = /^\/(login|register|reset-password|sign-in|invite)(\/|$)/;

/** The first segments of all paths of this client. */
const knownPages = /^\/(?:(?:login|register|reset-password|sign-in|invite|servers|dms|discovery|apps|settings)(?:\/|$)|$)/;

/** The page for an unknown path, for users who are not logged in, or for a link to a file that does not exist. */
function NotFoundPage({ isFile = false }: { isFile?: boolean }): JSX.Element {
  return (
    <main class="entry">
      <div class="form">
        <h1>{isFile ? 'File not found' : 'Page not found'}</h1>
        <p>{isFile ? 'This file doesn’t exist. It may have been deleted with its message.' : 'This page doesn’t exist.'}</p>
        <a href="/">Go to home page</a>
      </div>
    </main>
  );
}

/** Pages that need a login are rendered inside `Shell`, all others without it. `Shell` has its own router, and a nested router would not get the path. */
function Pages(): JSX.Element {
  const { path } = useLocation();
  if (path.startsWith('/files/')) return <NotFoundPage isFile />;
  if (me.value && !publicPages.test(path)) return <Shell />;
  if (!knownPages.test(path)) return <NotFoundPage />;
  return (
    <Router>
      <Route path="/register" component={RegisterPage} />
      <Route path="/reset-password" component={ResetPasswordPage} />
      <Route path="/sign-in" component={SignInPage} />
      <Route path="/invite/:code" component={InvitePage} />
      <Route default component={LoginPage} />
    </Router>
  );
}

/** The web client. Users who are not logged in see the login, register or invite page. */
export function App(): JSX.Element {
  const { error, reload } = useLoaded(restore, []);
  if (error || me.value === undefined) return <Loading of={{ error, reload }} />;
  return (
    <LocationProvider scope={clientPaths}>
      <ErrorBoundary>
        <Pages />
      </ErrorBoundary>
      <UnsavedGuard paths={clientPaths} />
      <Toasts />
    </LocationProvider>
  );
}
