import type { JSX } from 'preact';
import { guides } from '../../guides/guides.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { Article, Page } from '../article.tsx';
import type { Guide } from '../guide.ts';

/** The list of all guides. */
export function GuidesPage(): JSX.Element {
  return (
    <Page title="Guides">
      {guides.length === 0 && <p>There are no guides yet.</p>}
      <ul class="ref-cards">
        {guides.map(({ name, title, summary }) => (
          <li key={name}>
            <a href={`/developers/guides/${name}`}>
              <strong>{title}</strong>
              <p>{summary}</p>
            </a>
          </li>
        ))}
      </ul>
    </Page>
  );
}

/** A guide, which is loaded when it is opened. */
export function GuidePage({ guide }: { guide: Guide }): JSX.Element {
  const { value, error, reload } = useLoaded(guide.load, [guide.name]);
  if (value) return <Article title={guide.title} summary={guide.summary} sections={value} />;
  return error ? <ErrorNotice error={error} retry={reload} /> : <p class="spinner">Loading…</p>;
}
