import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { guides } from '../guides/guides.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { Page } from './article.tsx';
import { Frame } from './frame.tsx';
import { followLinks, place } from './location.ts';
import { GuidePage, GuidesPage } from './pages/guide-pages.tsx';
import { OperationsPage } from './pages/operations-page.tsx';
import { referencePages } from './pages.ts';
import { loadReference, reference, referenceError } from './reference-data.ts';
import { SearchBox } from './search-box.tsx';

function PageNotFound(): JSX.Element {
  return (
    <Page title="Page not found">
      <p>
        Search for it, or start at the <a href="/developers/reference">overview</a>.
      </p>
    </Page>
  );
}

/** The page at the path of the address. */
function CurrentPage(): JSX.Element {
  const [, , kind, name = '', ...rest] = place.value.path.split('/');
  if (rest.length > 0) return <PageNotFound />;
  if (kind === 'guides') {
    const guide = guides.find((one) => one.name === name);
    if (guide) return <GuidePage key={name} guide={guide} />;
    return name === '' ? <GuidesPage /> : <PageNotFound />;
  }
  if (!reference.value) return <ErrorNotice error={referenceError.value} retry={() => void loadReference()} />;
  const page = referencePages.find((one) => one.name === name);
  if (page) return <page.Page key={name} />;
  const group = reference.value.groups.find((one) => one.name === name);
  return group ? <OperationsPage key={name} group={group} /> : <PageNotFound />;
}

/** The reference and the guides for developers. They need no login. */
export function App(): JSX.Element {
  useEffect(() => {
    followLinks();
    void loadReference();
  }, []);
  return (
    <Frame search={<SearchBox />}>
      {!reference.value && !referenceError.value && place.value.path.startsWith('/developers/reference') && <p class="spinner">Loading…</p>}
      <CurrentPage />
    </Frame>
  );
}
