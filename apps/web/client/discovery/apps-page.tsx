import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import type { DirectoryPage } from '../../../../lib/contract/discovery.ts';
import { call, query } from '../../api/call.ts';
import { bind, TextField } from '../../ui/form.tsx';
import { PageHeader } from '../page.tsx';
import { AppCard } from './app-card.tsx';
import { ListingView } from './listing-view.tsx';
import { useListing } from './use-listing.ts';

/** The App Directory: bots that can be added to servers; verified ones first, then by number of servers. */
export function AppsPage(): JSX.Element {
  const text = useSignal('');
  const q = text.value.trim();
  const listing = useListing(
    (offset, signal) =>
      call<DirectoryPage>('GET', `/api/discovery/apps${query({ q, offset, limit: limits.discoveryPageDefault })}`, undefined, { signal }),
    [q],
  );
  return (
    <main id="main" class="discovery">
      <PageHeader>
        <h1>App Directory</h1>
        <a class="page-tools" href="/developers">
          Developer portal
        </a>
      </PageHeader>
      <div class="discovery-body">
        <div class="discovery-search" role="search">
          <TextField label="Search apps" type="search" placeholder="Name, description or bot username" {...bind(text)} />
        </div>
        <ListingView
          listing={listing}
          noun="app"
          searching={q !== ''}
          empty="No apps are listed yet. Developers can list their apps in the developer portal."
          card={(app) => <AppCard app={app} />}
        />
      </div>
    </main>
  );
}
