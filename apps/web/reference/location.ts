import { signal } from '@preact/signals';

/** The path of the shown page, without a slash at the end, and the anchor on it, without `#`. */
export interface Place {
  readonly path: string;
  readonly anchor: string;
}

/** The paths of the pages that this script shows. Links to other paths load another page. */
const ownPaths = /^\/developers\/(?:reference|guides)(?:\/|$)/;

const readPlace = (): Place => ({
  path: location.pathname.replace(/\/+$/, ''),
  anchor: decodeURIComponent(location.hash.slice(1)),
});

/** The place that is shown. Every visit sets it to a new object, so that a repeated click on a link scrolls to its anchor again. */
export const place = signal<Place>(readPlace());

/** How far down the page was when its history entry was left; null for an entry that is visited for the first time. */
let savedScroll: number | null = null;
let scrollTimer: ReturnType<typeof setTimeout> | undefined;
const scrollPauseMs = 150;

/** Notes in the history entry how far down the page is. */
const saveScroll = (): void => history.replaceState({ scroll: scrollY }, '');

/** Shows the page of `href`, a path of this site with or without an anchor, as a new entry of the browser's history. */
export function visit(href: string): void {
  clearTimeout(scrollTimer);
  saveScroll();
  savedScroll = null;
  if (href !== location.pathname + location.hash) history.pushState(null, '', href);
  place.value = readPlace();
}

function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.origin !== location.origin || link.target !== '' || link.download !== '' || !ownPaths.test(link.pathname)) return;
  event.preventDefault();
  visit(link.pathname + link.hash);
}

const readSavedScroll = (): number | null => {
  const state: unknown = history.state;
  return typeof state === 'object' && state !== null && 'scroll' in state && typeof state.scroll === 'number' ? state.scroll : null;
};

/** Makes links of this site show their page without loading it, and the browser's buttons return to where the page was. Called once. */
export function followLinks(): void {
  history.scrollRestoration = 'manual';
  savedScroll = readSavedScroll();
  document.addEventListener('click', followLink);
  addEventListener('popstate', () => {
    clearTimeout(scrollTimer);
    savedScroll = readSavedScroll();
    place.value = readPlace();
  });
  addEventListener('scroll', () => {
    clearTimeout(scrollTimer);
    scrollTimer = setTimeout(saveScroll, scrollPauseMs);
  });
}

/** Scrolls to where the page was in this history entry, else to the anchor, else to the top. Called after a page is rendered. */
export function scrollToPlace({ anchor }: Place): void {
  const target = anchor === '' ? null : document.getElementById(anchor);
  if (savedScroll !== null) scrollTo(0, savedScroll);
  else if (target) target.scrollIntoView();
  else scrollTo(0, 0);
}
