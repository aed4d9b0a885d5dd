import { useEffect } from 'preact/hooks';

let opened = false;

/** Names the page in the window's title. After the first, its heading gets the focus, so that a screen reader says where the link led. */
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
