import { useEffect } from 'preact/hooks';

let opened = false;

/** Sets the title of the window. After the first page, the heading gets the focus, so that a screen reader announces the new page. */
export function usePage(title: string): void {
  useEffect(() => {
    document.title = `${title} · Parlance for developers`;
  }, [title]);
  useEffect(() => {
    const heading = document.querySelector('h1');
    if (opened && heading) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
    opened = true;
  }, []);
}
