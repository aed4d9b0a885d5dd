import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { currentPath } from '../state/session.ts';

/** The pages from which a login leads to the start page. */
const entryPages = /^\/(login|register|reset-password|sign-in)([/?#]|$)/;

/**
 * Returns where to go after a login: the path in `next` if it is a path of this origin; on a page that asks for a login first, that page; otherwise the start
 * page.
 */
export function useNext(): { path: string; proceed: () => void } {
  const { query, route } = useLocation();
  const next = query.next ?? (entryPages.test(location.pathname) ? '' : currentPath());
  const path = /^\/(?![/\\])/.test(next) && !entryPages.test(next) ? next : '/';
  return {
    path,
    proceed: () => {
      if (/^\/developers([/?#]|$)/.test(path)) location.assign(path);
      else route(path, true);
    },
  };
}

/** Whether the URL fragment has a one-time code. */
export const hasCode = (): boolean => new URLSearchParams(location.hash.slice(1)).has('code');

/** Takes the one-time code from the URL fragment, and removes it from the address bar at once, so that it does not stay in the browser history. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined;
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** Calls `open` with the one-time code of the URL fragment, or undefined if it has none: now, and whenever a link changes the fragment. */
export function useCode(open: (code: string | undefined) => void): void {
  useEffect(() => {
    const read = (): void => open(takeCode());
    read();
    window.addEventListener('hashchange', read);
    return () => window.removeEventListener('hashchange', read);
  }, []);
}
