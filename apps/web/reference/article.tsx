import { Link } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Icon } from '../ui/icon.tsx';
import type { ArticleSection } from './guide.ts';
import { place, scrollToPlace } from './location.ts';
import { Line } from './text.tsx';

/** Whether a page was shown before, so that the first one does not take the focus. */
let isLater = false;

/**
 * A page with its heading. Sets the title of the window; when the page is shown or visited again, scrolls to the anchor of its address. After the first page the
 * heading gets the focus, so that a screen reader announces the new page. `wide` leaves room for samples at the right.
 */
export function Page({ title, wide = false, children }: { title: string; wide?: boolean; children: ComponentChildren }): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Parlance for developers`;
    if (isLater) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
    isLater = true;
  }, [title]);
  useEffect(() => scrollToPlace(place.value), [title, place.value]);
  return (
    <div class={`ref-page ${wide ? 'wide' : ''}`}>
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </div>
  );
}

/** A heading with a link to itself. The element with the id `anchor` is a parent of it. */
export function Heading({ anchor, level = 2, children }: { anchor: string; level?: 2 | 3; children: ComponentChildren }): JSX.Element {
  const Tag = `h${level}` as const;
  return (
    <Tag class="ref-heading">
      {children}{' '}
      <a class="ref-anchor" href={`${place.value.path}#${anchor}`} aria-label="Link to this section">
        <Icon of={Link} size="0.9em" />
      </a>
    </Tag>
  );
}

/** A page of sections, with links to them at the top. */
export function Article({
  title,
  summary,
  sections,
}: {
  title: string;
  summary: string;
  sections: readonly ArticleSection[];
}): JSX.Element {
  return (
    <Page title={title}>
      <p class="ref-lead">
        <Line text={summary} />
      </p>
      {sections.length > 2 && (
        <nav class="ref-contents" aria-label="On this page">
          <ul>
            {sections.map(({ id, title: name }) => (
              <li key={id}>
                <a href={`${place.value.path}#${id}`}>{name}</a>
              </li>
            ))}
          </ul>
        </nav>
      )}
      {sections.map(({ id, title: name, render }) => (
        <section key={id} id={id} class="ref-section">
          <Heading anchor={id}>{name}</Heading>
          {render()}
        </section>
      ))}
    </Page>
  );
}
