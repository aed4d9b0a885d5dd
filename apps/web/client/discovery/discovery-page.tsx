import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import type { DiscoveryCategory } from '../../../../lib/contract/community.ts';
import type { DiscoveryPage as Page } from '../../../../lib/contract/discovery.ts';
import { call, query } from '../../api/call.ts';
import { bind, SelectField, TextField } from '../../ui/form.tsx';
import { PageHeader } from '../page.tsx';
import { categoryChoices } from './categories.ts';
import { ListingView } from './listing-view.tsx';
import { ServerCard } from './server-card.tsx';
import { useListing } from './use-listing.ts';

const all = '';

/** Discovery: the servers that anyone can join, with search and categories, most members first. */
export function DiscoveryPage(): JSX.Element {
  const text = useSignal('');
  const category = useSignal<DiscoveryCategory | typeof all>(all);
  const q = text.value.trim();
  const listing = useListing(
    (offset, signal) =>
      call<Page>(
        'GET',
        `/api/discovery/servers${query({ q, category: category.value, offset, limit: limits.discoveryPageDefault })}`,
        undefined,
        { signal },
      ),
    [q, category.value],
  );
  return (
    <main id="main" class="discovery">
      <PageHeader>
        <h1>Discovery</h1>
        <a class="page-tools" href="/apps">
          App Directory
        </a>
      </PageHeader>
      <div class="discovery-body">
        <div class="discovery-search" role="search">
          <TextField label="Search servers" type="search" placeholder="Name, description or keyword" {...bind(text)} />
          <SelectField label="Category" options={[{ value: all, label: 'All' }, ...categoryChoices]} {...bind(category)} />
        </div>
        <ListingView
          listing={listing}
          noun="server"
          searching={q !== '' || category.value !== all}
          empty="No servers are listed yet. Community servers can be listed in their settings."
          card={(server) => <ServerCard server={server} onJoined={() => listing.change(server.id, { joined: true })} />}
        />
      </div>
    </main>
  );
}
