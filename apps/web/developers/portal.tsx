import { LogOut, MessagesSquare } from 'lucide';
import type { JSX } from 'preact';
import { ErrorBoundary, LocationProvider, lazy, Route, Router } from 'preact-iso';
import { currentPath, loginPath, logout, me, restore } from '../state/session.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Loading } from '../ui/loading.tsx';
import { showError, Toasts } from '../ui/toast.tsx';
import { askToLeave, UnsavedGuard } from '../ui/unsaved.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { loadApplications } from './applications.ts';
import { BotPage } from './bot-page.tsx';
import { DirectoryPage } from './directory-page.tsx';
import { GeneralPage } from './general-page.tsx';
import { InstallPage } from './install-page.tsx';
import { ListPage } from './list-page.tsx';
import { usePage } from './page.ts';

const CommandsPage = lazy(() => import('./commands/commands-page.tsx').then((page) => page.CommandsPage));
const FirstBotPage = lazy(() => import('./first-bot-page.tsx').then((page) => page.FirstBotPage));

/** The paths of the portal. The web client, and the reference with the guides, are separate pages. */
const portalPaths = /^\/developers(?!\/(?:reference|guides)(?:[/?#]|$))(?:[/?]|$)/;

function Header(): JSX.Element {
  const person = me.value;
  return (
    <header class="portal-header">
      <a class="portal-brand" href="/developers">
        Parlance <span class="soft">for developers</span>
      </a>
      <nav class="portal-documents" aria-label="Documentation">
        <a href="/developers/reference">Reference</a>
        <a href="/developers/guides">Guides</a>
      </nav>
      <a class="portal-back" href="/">
        <Icon of={MessagesSquare} /> Open Parlance
      </a>
      {person && (
        <span class="portal-person">
          <Avatar id={person.id} name={person.displayName} url={person.avatarUrl} size={28} />
          <span class="portal-name">{person.displayName}</span>
          <Button variant="quiet" aria-label="Log out" onClick={() => askToLeave(() => void logout().catch(showError), 'document')}>
            <Icon of={LogOut} /> <span class="portal-wide">Log out</span>
          </Button>
        </span>
      )}
    </header>
  );
}

function PageNotFound(): JSX.Element {
  usePage('Page not found');
  return (
    <main class="portal-main">
      <h1>Page not found</h1>
      <p>
        <a href="/developers">My applications</a>
      </p>
    </main>
  );
}

/** The developer portal, for logged-in users. Others are sent to the client's login page, which leads back here. */
export function Portal(): JSX.Element {
  const ready = useLoaded(async () => {
    await restore();
    if (me.value) await loadApplications();
    else location.replace(loginPath(currentPath()));
    return Boolean(me.value);
  }, []);
  return (
    <LocationProvider scope={portalPaths}>
      <a class="skip-link" href="#page">
        Skip to content
      </a>
      <Header />
      <Loading of={{ ...ready, value: ready.value || undefined }}>
        {() => (
          <ErrorBoundary>
            <Router>
              <Route path="/developers" component={ListPage} />
              <Route path="/developers/:id" component={GeneralPage} />
              <Route path="/developers/:id/bot" component={BotPage} />
              <Route path="/developers/:id/commands" component={CommandsPage} />
              <Route path="/developers/:id/install" component={InstallPage} />
              <Route path="/developers/:id/directory" component={DirectoryPage} />
              <Route path="/developers/:id/first-bot" component={FirstBotPage} />
              <Route default component={PageNotFound} />
            </Router>
          </ErrorBoundary>
        )}
      </Loading>
      <UnsavedGuard paths={portalPaths} />
      <Toasts />
    </LocationProvider>
  );
}
