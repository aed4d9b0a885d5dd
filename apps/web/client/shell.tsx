import type { ComponentType, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { lazy, Route, Router, useLocation } from 'preact-iso';
import { connection } from '../api/gateway.ts';
import { servers } from '../state/servers.ts';
import { currentPath, loginPath } from '../state/session.ts';
import { loadState, start, stop } from '../state/start.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { Spinner } from '../ui/loading.tsx';
import { ChannelPage } from './chat/channel-page.tsx';
import { DeletionNotice } from './deletion-notice.tsx';
import { HomePage, ServerPage } from './home.tsx';
import { NotFound, sideOpen } from './page.tsx';
import { keepTitle } from './page-title.ts';
import { ProfileDialog } from './people/profile.tsx';
import { ChannelList } from './side/channel-list.tsx';
import { DmList } from './side/dm-list.tsx';
import { OwnBar } from './side/own-bar.tsx';
import { ServerRail } from './side/server-rail.tsx';
import { Shortcuts } from './switcher.tsx';

const ServerSettings = lazy(() => import('./settings/server-settings.tsx').then((page) => page.ServerSettings as ComponentType));
const OwnSettings = lazy(() => import('./settings/own-settings.tsx').then((page) => page.OwnSettings as ComponentType));
const DiscoveryPage = lazy(() => import('./discovery/discovery-page.tsx').then((page) => page.DiscoveryPage as ComponentType));
const AppsPage = lazy(() => import('./discovery/apps-page.tsx').then((page) => page.AppsPage as ComponentType));

/** Returns the id of the server in a path of this client. */
const serverOf = (path: string): string | undefined => /^\/servers\/(\d+)/.exec(path)?.[1];

/**
 * Whether a click in the lists opens a page, so that the lists close on a narrow page. Choosing a server or the direct messages changes only the content of
 * the lists.
 */
const closesLists = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('.side-column a, .rail a[href="/discovery"]') !== null;

/** Says that the connection is lost and reconnects automatically, that the user has been logged out, or that the page is outdated. */
function ConnectionBanner(): JSX.Element | null {
  switch (connection.value) {
    case 'away':
      return (
        <p class="away" role="status">
          Connection lost. Reconnecting… Your messages will be sent when you’re back.
        </p>
      );
    case 'refused':
      return (
        <p class="away" role="alert">
          You have been logged out. <a href={loginPath(currentPath())}>Log in again</a>
        </p>
      );
    case 'outdated':
      return (
        <p class="away" role="alert">
          Parlance has been updated. <Button onClick={() => location.reload()}>Reload this page</Button>
        </p>
      );
    default:
      return null;
  }
}

/** The layout of every page for logged-in users: servers and channels at the side, the page beside them. */
export function Shell(): JSX.Element {
  const { path } = useLocation();
  const serverId = serverOf(path);
  useEffect(() => {
    start();
    const stopTitle = keepTitle();
    return () => {
      stopTitle();
      stop();
    };
  }, []);
  const side = useRef<HTMLDivElement>(null);
  const wasOpen = useRef(false);
  useEffect(() => {
    // Opening the lists moves the focus into them; closing them moves it back to the button, unless it went elsewhere.
    const isInside = side.current?.contains(document.activeElement) || document.activeElement === document.body;
    if (sideOpen.value) side.current?.querySelector('a')?.focus();
    else if (wasOpen.current && isInside) document.querySelector<HTMLElement>('.side-button button')?.focus();
    wasOpen.current = sideOpen.value;
  }, [sideOpen.value]);
  if (loadState.value === 'loading') return <Spinner />;
  if (loadState.value !== 'ready') return <ErrorNotice error={loadState.value} retry={start} />;
  return (
    <div class={`shell ${sideOpen.value ? 'side-open' : ''}`}>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <div
        class="side"
        ref={side}
        onKeyDown={({ key }) => key === 'Escape' && (sideOpen.value = false)}
        onClick={({ target }) => closesLists(target) && (sideOpen.value = false)}
      >
        <ServerRail current={serverId} />
        <div class="side-column">
          {serverId && servers.value.has(serverId) ? <ChannelList serverId={serverId} /> : <DmList />}
          <OwnBar />
        </div>
      </div>
      {sideOpen.value && <div class="side-cover" onClick={() => (sideOpen.value = false)} />}
      <div class="page">
        <ConnectionBanner />
        <DeletionNotice />
        <Router>
          <Route path="/" component={HomePage} />
          <Route path="/dms" component={HomePage} />
          <Route path="/dms/:channelId" component={ChannelPage} />
          <Route path="/discovery" component={DiscoveryPage} />
          <Route path="/apps" component={AppsPage} />
          <Route path="/settings/:page?" component={OwnSettings} />
          <Route path="/servers/:serverId" component={ServerPage} />
          <Route path="/servers/:serverId/settings/:page?" component={ServerSettings} />
          <Route path="/servers/:serverId/:channelId" component={ChannelPage} />
          <Route default component={NotFound} />
        </Router>
      </div>
      <ProfileDialog />
      <Shortcuts />
    </div>
  );
}
