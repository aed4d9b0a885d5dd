import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { PageHeader } from '../page.tsx';
import './settings.css';

/** One page of the settings: the last part of its path, and its name. */
export interface SettingsItem {
  page: string;
  label: string;
}

/** The frame of settings: their pages at the side (on top of a narrow page), and the open one. */
export function SettingsFrame({
  title,
  base,
  items,
  current,
  children,
}: {
  title: string;
  /** The path that a page's name is added to. */
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
