import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { PageHeader } from '../page.tsx';
import './settings.css';

/** One settings page: the last segment of its path, and its name. */
export interface SettingsItem {
  page: string;
  label: string;
}

/** The layout of settings: the list of pages at the side (above on a narrow page), and the open page. */
export function SettingsFrame({
  title,
  base,
  items,
  current,
  children,
}: {
  title: string;
  /** The path to which the name of a page is appended. */
  base: string;
  items: readonly SettingsItem[];
  current: SettingsItem;
  children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <main id="main" class="settings">
      <PageHeader>
        <h1>{title}</h1>
      </PageHeader>
      <div class="settings-body">
        <nav class="settings-nav" aria-label="Settings">
          <ul>
            {items.map(({ page, label }) => (
              <li key={page}>
                <a href={`${base}/${page}`} aria-current={page === current.page ? 'page' : undefined}>
                  {label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <section class="settings-page" aria-labelledby={id} key={current.page}>
          <h2 id={id}>{current.label}</h2>
          {children}
        </section>
      </div>
    </main>
  );
}
