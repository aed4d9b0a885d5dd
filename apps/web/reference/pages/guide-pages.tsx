import type { JSX } from 'preact';
import { guides } from '../../guides/guides.ts';
import { Loading } from '../../ui/loading.tsx';
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
  const loaded = useLoaded(guide.load, [guide.name]);
  return <Loading of={loaded}>{(sections) => <Article title={guide.title} summary={guide.summary} sections={sections} />}</Loading>;
}
