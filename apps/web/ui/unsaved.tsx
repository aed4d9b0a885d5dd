import { effect, signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/**
 * Where unsaved changes are lost: `page` when another page of the client is shown, `part` also when the user chooses something else on the page, `document`
 * only when the browser leaves the page, because the changes are kept in memory.
 */
type Scope = 'page' | 'part' | 'document';

const unsaved = signal<ReadonlyMap<symbol | string, Scope>>(new Map());
/** What the user wants to do while changes are unsaved, until the question is answered. */
const pending = signal<{ proceed: () => void; keep: () => void } | null>(null);

/** Records whether `owner` has unsaved changes. */
export function setUnsaved(owner: symbol | string, isDirty: boolean, scope: Scope): void {
  if (unsaved.peek().has(owner) === isDirty) return;
  const next = new Map(unsaved.peek());
  if (isDirty) next.set(owner, scope);
  else next.delete(owner);
  unsaved.value = next;
}

/** Asks before the changes of the calling component are lost, while `isDirty`; at once, and not only when they are painted. */
export function useUnsaved(isDirty: boolean, scope: Scope = 'page'): void {
  const { current: owner } = useRef(Symbol('unsaved'));
  useLayoutEffect(() => setUnsaved(owner, isDirty, scope), [isDirty, scope]);
  useEffect(() => () => setUnsaved(owner, false, scope), []);
}

/** Whether changes are lost when another page is shown, for `part` another part of this page, for `document` when the browser leaves the page. */
const isLosing = (leaving: Scope): boolean =>
  [...unsaved.peek().values()].some((scope) => leaving === 'document' || scope === 'part' || scope === leaving);

/** Does what the user chose; asks first when unsaved changes would be lost. `keep` is called when the user goes on editing instead. */
export function askToLeave(proceed: () => void, scope: Scope = 'page', keep: () => void = () => undefined): void {
  if (isLosing(scope)) pending.value = { proceed, keep };
  else proceed();
}

/** Returns the callback of a field that shows another part of the page, which asks first. After "Keep editing" the field shows the current part again. */
export function useAskToChoose<T>(choose: (value: T) => void): (value: T) => void {
  const kept = useSignal(0);
  void kept.value;
  return (value) =>
    askToLeave(
      () => choose(value),
      'part',
      () => kept.value++,
    );
}

const onBeforeUnload = (event: BeforeUnloadEvent): void => event.preventDefault();

// The browser asks before the document is left. The listener exists only then, because it disables the back-forward cache for the page.
effect(() => {
  if (unsaved.value.size > 0) window.addEventListener('beforeunload', onBeforeUnload);
  else window.removeEventListener('beforeunload', onBeforeUnload);
});

const addressNow = (): string => location.pathname + location.search;

/** The address of the page with the unsaved changes. */
let addressOfChanges = '';
effect(() => {
  if (unsaved.value.size > 0) addressOfChanges = addressNow();
});

let isAnswered = false;

// The router listens when it is rendered, which is later, so this listener runs first.
window.addEventListener('popstate', (event) => {
  if (isAnswered || addressNow() === addressOfChanges || !isLosing('page')) {
    isAnswered = false;
    return;
  }
  // The browser has moved already. The page stays in view with its own address until the question is answered.
  event.stopImmediatePropagation();
  history.pushState(null, '', addressOfChanges);
  askToLeave(() => {
    isAnswered = true;
    history.back();
  });
});

/** Returns the address that a click opens in this client; undefined for other clicks, which the browser handles. */
function targetOf(event: MouseEvent, paths: RegExp): string | undefined {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.button !== 0) return undefined;
  const link = event.composedPath().find((one) => one instanceof HTMLAnchorElement);
  if (!link || link.origin !== location.origin || !/^(_?self)?$/i.test(link.target) || link.hasAttribute('download')) return undefined;
  const href = link.getAttribute('href') ?? '';
  return href === '' || href.startsWith('#') || !paths.test(link.pathname) ? undefined : link.href.slice(link.origin.length);
}

/**
 * Asks before links of this client and the browser's Back and Forward lose unsaved changes. `paths` matches the paths of this client. It is rendered inside the
 * `LocationProvider`.
 */
export function UnsavedGuard({ paths }: { paths: RegExp }): JSX.Element | null {
  const { route } = useLocation();
  useEffect(() => {
    const onClick = (event: MouseEvent): void => {
      const target = targetOf(event, paths);
      if (target === undefined || !isLosing('page') || target === addressNow()) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      askToLeave(() => route(target));
    };
    window.addEventListener('click', onClick, { capture: true });
    return () => window.removeEventListener('click', onClick, { capture: true });
  }, []);
  if (!pending.value) return null;
  const { proceed, keep } = pending.value;
  const answer = (act: () => void): void => {
    pending.value = null;
    act();
  };
  return (
    <Dialog title="Discard unsaved changes?" onClose={() => answer(keep)}>
      <p>Your changes on this page have not been saved.</p>
      <div class="actions">
        <Button onClick={() => answer(keep)}>Keep editing</Button>
        <Button variant="danger" onClick={() => answer(proceed)}>
          Discard changes
        </Button>
      </div>
    </Dialog>
  );
}
